import { isAddressable } from '@berth/core/accounts/installations/own-installation.ts'
import { grantedCapabilities } from '@berth/core/identity/guard/granted-capabilities.ts'
import type { InstallationPrincipal } from '@berth/core/identity/guard/principal.ts'
import { type Queryable, queryAny, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** Returns whether an organization has an installation that may have triggers: a live one, and not the service's own. */
export async function hasInstallation(
  db: Queryable,
  { organizationId, installationId }: { readonly organizationId: string; readonly installationId: string },
): Promise<boolean> {
  return await queryAny(db, {
    text: `
      select from installations i
      where i.organization_id = $1 and i.id = $2 and i.revoked_at is null and ${isAddressable('i')}`,
    values: [organizationId, installationId],
  })
}

/**
 * Returns an installation as its own bearer would stand now; null if it was revoked, is the service's own, or may
 * make no Sessions, or its organization is suspended.
 */
export async function readPrincipal(
  db: Queryable,
  { organizationId, installationId }: { readonly organizationId: string; readonly installationId: string },
): Promise<InstallationPrincipal | null> {
  const row = await queryRow<{ capabilities: string[]; cloud_access: boolean }>(db, {
    name: 'standing-of-installation',
    text: `
      select i.capabilities, o.cloud_access
      from installations i join organizations o on o.id = i.organization_id
      where i.organization_id = $1 and i.id = $2 and i.revoked_at is null and ${isAddressable('i')}
        and o.suspended_at is null`,
    values: [organizationId, installationId],
  })
  if (row === null) return null
  const capabilities = grantedCapabilities(row.capabilities, row.cloud_access)
  if (!capabilities.has('svc.cloud.access') || !capabilities.has('svc.cloud.sessions:create')) return null
  return { kind: 'app_installation', id: installationId, organizationId, capabilities, expiresAt: null }
}
