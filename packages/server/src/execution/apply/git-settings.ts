import { readFixedDocument } from '../../environments/fix-environment.ts'
import type { LeaseRow } from '../../sessions/leases/lease-sql.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { GitSettings } from '../claim/git-access.ts'

/** Returns what the environment that a lease was set up by says about Git hosts. */
export async function gitSettingsOfLease(db: Queryable, lease: LeaseRow): Promise<GitSettings> {
  const { organization_id: organizationId, environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return { github: false, repositories: [] }
  return readFixedDocument(db, { organizationId, environmentId }, revision)
}
