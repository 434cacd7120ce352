import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { isAddressable } from './own-installation.ts'

export interface InstallationRow {
  readonly id: string
  readonly kind: 'app' | 'integration'
  readonly app_slug: string
  readonly name: string | null
  /** Null if the app was deleted. */
  readonly app_name: string | null
  readonly capabilities: string[]
  readonly created_at: Date
  readonly revoked_at: Date | null
}

const columns = `id, kind, app_slug, name, (select a.name from apps a where a.slug = app_slug) as app_name, capabilities, created_at, revoked_at`

/** Lists an organization's installations, newest first. The service's own is left out. */
export async function listInstallations(db: Queryable, organizationId: string): Promise<readonly InstallationRow[]> {
  return await queryRows<InstallationRow>(db, {
    name: 'list-installations',
    text: `
      select ${columns} from installations where organization_id = $1 and ${isAddressable('installations')}
      order by created_at desc, id desc`,
    values: [organizationId],
  })
}

/** Changes the grant of a live installation. @returns null if the organization has no such one */
export async function changeGrant(
  tx: Queryable,
  organizationId: string,
  id: string,
  capabilities: readonly string[],
): Promise<InstallationRow | null> {
  return await queryRow<InstallationRow>(tx, {
    name: 'change-grant',
    text: `
      update installations set capabilities = $3
      where id = $2 and organization_id = $1 and ${isAddressable('installations')} and revoked_at is null returning ${columns}`,
    values: [organizationId, id, capabilities],
  })
}

/**
 * Locks an installation until the transaction ends.
 * @param kind finds those of one kind alone
 * @returns null if the organization has no such one; a revoked one is returned
 */
export async function lockInstallation(
  tx: Queryable,
  organizationId: string,
  id: string,
  kind: 'integration' | null = null,
): Promise<InstallationRow | null> {
  return await queryRow<InstallationRow>(tx, {
    name: 'lock-installation',
    text: `
      select ${columns} from installations
      where id = $2 and organization_id = $1 and ${isAddressable('installations')} and ($3::text is null or kind = $3) for update`,
    values: [organizationId, id, kind],
  })
}

/** Revokes an installation and its keys. */
export async function endInstallation(tx: Queryable, id: string, now: Date): Promise<void> {
  await tx.query({
    name: 'end-installation',
    text: 'update installations set revoked_at = $2 where id = $1 and revoked_at is null',
    values: [id, now],
  })
  await tx.query({
    name: 'end-keys-of-installation',
    text: 'update api_keys set revoked_at = $2 where installation_id = $1 and revoked_at is null',
    values: [id, now],
  })
}
