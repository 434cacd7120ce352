import { type Queryable, queryAny, queryChanged, queryRows } from '@berth/platform/storage/postgres/database.ts'

export interface ApiKeyRow {
  readonly id: string
  readonly installation_id: string
  readonly kind: 'cloud' | 'ai'
  readonly hint: string | null
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly last_used_at: Date | null
}

export interface IntegrationRow {
  readonly id: string
  readonly name: string | null
  readonly app_slug: string
  readonly capabilities: string[]
  readonly created_at: Date
}

const keyColumns = 'k.id, k.installation_id, k.kind, k.hint, k.created_at, k.expires_at, k.last_used_at'

/** Returns whether an organization can make integrations of an app: its own, or one of the service's. */
export async function hasProduct(db: Queryable, organizationId: string, slug: string): Promise<boolean> {
  return await queryAny(db, {
    name: 'has-product',
    text: 'select 1 from apps where slug = $2 and (organization_id = $1 or reserved) and deleted_at is null',
    values: [organizationId, slug],
  })
}

export async function insertIntegration(
  tx: Queryable,
  integration: {
    readonly id: string
    readonly organizationId: string
    readonly product: string
    readonly name: string
    readonly capabilities: readonly string[]
    readonly membershipId: string
  },
  now: Date,
): Promise<void> {
  const { id, organizationId, product, capabilities, name, membershipId } = integration
  await tx.query({
    name: 'insert-integration',
    text: `
      insert into installations (id, organization_id, app_slug, capabilities, created_at, kind, name, created_by)
      values ($1, $2, $3, $4, $5, 'integration', $6, $7)`,
    values: [id, organizationId, product, capabilities, now, name, membershipId],
  })
}

/** Lists an organization's live integrations, newest first. */
export async function listIntegrations(db: Queryable, organizationId: string): Promise<readonly IntegrationRow[]> {
  return await queryRows<IntegrationRow>(db, {
    name: 'list-integrations',
    text: `
      select id, name, app_slug, capabilities, created_at from installations
      where organization_id = $1 and kind = 'integration' and revoked_at is null order by created_at desc, id desc`,
    values: [organizationId],
  })
}

/** Lists active keys, the oldest first. @param integrationId null: of all integrations of the organization */
export async function listActiveKeys(
  db: Queryable,
  organizationId: string,
  integrationId: string | null,
  now: Date,
): Promise<readonly ApiKeyRow[]> {
  return await queryRows<ApiKeyRow>(db, {
    name: 'list-active-keys',
    text: `
      select ${keyColumns} from api_keys k join installations i on i.id = k.installation_id
      where i.organization_id = $1 and i.kind = 'integration' and ($2::uuid is null or i.id = $2)
        and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
      order by k.created_at, k.id`,
    values: [organizationId, integrationId, now],
  })
}

export async function insertApiKey(
  tx: Queryable,
  key: {
    readonly id: string
    readonly installationId: string
    readonly kind: 'cloud' | 'ai'
    readonly digest: Buffer
    readonly hint: string
    readonly expiresAt: Date | null
    readonly membershipId: string
  },
  now: Date,
): Promise<ApiKeyRow> {
  const { id, installationId, kind, digest, hint, expiresAt, membershipId } = key
  await tx.query({
    name: 'insert-api-key',
    text: `
      insert into api_keys (id, installation_id, kind, digest, hint, created_at, expires_at, created_by)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [id, installationId, kind, digest, hint, now, expiresAt, membershipId],
  })
  return {
    id,
    installation_id: installationId,
    kind,
    hint,
    created_at: now,
    expires_at: expiresAt,
    last_used_at: null,
  }
}

/** Revokes a key, once. @returns false if the integration has no such key */
export async function endApiKey(tx: Queryable, installationId: string, id: string, now: Date): Promise<boolean> {
  return await queryChanged(tx, {
    name: 'end-api-key',
    text: 'update api_keys set revoked_at = coalesce(revoked_at, $3) where installation_id = $1 and id = $2',
    values: [installationId, id, now],
  })
}
