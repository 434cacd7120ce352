import { refusal } from '@berth/platform/kit/refusal.ts'
import { readEgressPolicy } from '../accounts/organizations/egress-policy.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { listOwnedArchives } from './archives/archive-sql.ts'
import { readStored } from './document.ts'
import { type EnvironmentKey, type EnvironmentRow, findRevision } from './environment-sql.ts'
import { type Documents, requireSound } from './put-environment.ts'
import { writeEnvironment } from './revise.ts'

/**
 * Writes a revision with the document of an earlier one and today's secrets.
 * @throws ApiError 400 `environment_invalid` if something that the document names is gone
 * @throws ApiError 404 also for an unknown revision, 409, 503
 */
export async function restoreRevision(
  { db, clock, runtimes, catalog }: Documents,
  principal: Principal,
  key: EnvironmentKey,
  revision: number,
  seen: number,
): Promise<EnvironmentRow> {
  // A revision never changes, so it is read before the lock.
  const restored = await findRevision(db, key, revision)
  if (restored === null) throw refusal('environment_not_found')
  const document = readStored(restored.document)
  const slugs = await catalog.slugsFor(document)
  return await writeEnvironment({ db, clock }, principal, key, {
    seen,
    isDone: row => row.document === restored.document,
    locksOrganization: true,
    decide: async (tx, row) => {
      const archives = await listOwnedArchives(tx, key)
      const conversations = runtimes.states
      const policy = await readEgressPolicy(tx, key.organizationId)
      requireSound(document, undefined, { pins: row.secrets, conversations, archives, catalog: slugs, policy })
      return { document }
    },
  })
}
