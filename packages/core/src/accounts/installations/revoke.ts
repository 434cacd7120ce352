import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { endConnectionsOf } from '../../repositories/grant-sql.ts'
import { endInstallation, lockInstallation } from './installation-sql.ts'

/**
 * Revokes an installation, with its keys and its connections to Git hosts. Guards read its row on each request, and Runs
 * are ended by the sweeper, so nothing has to be told.
 * @param kind revokes installations of one kind alone
 * @returns null if the organization has no such installation, else whether it lived
 */
export async function revokeInstallation(
  tx: Queryable,
  organizationId: string,
  id: string,
  now: Date,
  kind: 'integration' | null = null,
): Promise<boolean | null> {
  const found = await lockInstallation(tx, organizationId, id, kind)
  if (found === null) return null
  if (found.revoked_at !== null) return false
  await endInstallation(tx, id, now)
  await endConnectionsOf(tx, id, now)
  return true
}
