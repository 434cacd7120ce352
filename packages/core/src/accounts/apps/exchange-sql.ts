import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { isAddressable } from '../installations/own-installation.ts'

interface LiveInstallationRow {
  readonly organization_id: string
  readonly capabilities: string[]
  readonly cloud_access: boolean
  /** Whether the consent stands: it is of this installation, and its person still a member. */
  readonly setup: boolean
}

/**
 * Reads what an app's installation holds now.
 * @param setupAuthorityId the consent to look at as well; null: none
 * @returns null if the app has no such live installation, or its organization is suspended
 */
export async function findLiveInstallation(
  db: Queryable,
  appSlug: string,
  installationId: string,
  setupAuthorityId: string | null,
): Promise<LiveInstallationRow | null> {
  return await queryRow<LiveInstallationRow>(db, {
    name: 'find-installation-standing',
    text: `
      select i.organization_id, i.capabilities, o.cloud_access,
        exists (
          select 1 from setup_authorities s
          join memberships m on m.id = s.membership_id join people p on p.id = m.person_id
          where s.id = $3 and s.installation_id = i.id and m.revoked_at is null and p.disabled_at is null) as setup
      from installations i join organizations o on o.id = i.organization_id
      where i.id = $2 and i.app_slug = $1 and ${isAddressable('i')} and i.revoked_at is null and o.suspended_at is null`,
    values: [appSlug, installationId, setupAuthorityId],
  })
}
