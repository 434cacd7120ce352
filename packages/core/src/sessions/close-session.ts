import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { abandonFollowUps } from './follow-ups/abandon-follow-ups.ts'
import { closeInteractions } from './interactions/close-interactions.ts'
import { abandonUnfinished, endLease } from './leases/end-lease.ts'
import { deleteWorkspaceRequest } from './leases/workspace-request-sql.ts'
import { abandonMerges } from './merges/abandon-merges.ts'
import { abandonPublications } from './publications/under-way.ts'
import { endRun } from './runs/end-run.ts'
import { releaseFence } from './runs/fence-sql.ts'
import { holdSession, markArchived } from './session/session-sql.ts'
import { cancelVerifications } from './verifications/cancel-verifications.ts'

/**
 * Closes a Session for good: cancels its Run and its verifications, ends its lease and abandons deliveries that have not
 * begun; the log stays.
 * The worker that runs the sandbox loses its fence with the commit and destroys every sandbox that no lease names. The
 * caller holds the Session's lock, and has seen that it is not archived.
 */
export async function closeSession(
  tx: Queryable,
  key: SessionKey,
  activeRunId: string | null,
  now: Date,
): Promise<void> {
  await closeInteractions(tx, key, 'session_archived', now)
  await abandonUnfinished(tx, key, now, 'session_archived')
  if (activeRunId !== null) await endRun(tx, key, activeRunId, { status: 'cancelled', stopReason: 'aborted' }, now)
  // Before the fence: a worker's claim needs the request, so no claim can come between the two.
  await deleteWorkspaceRequest(tx, key)
  // Releases the fence even without an active Run: the last Run may still be sealing, and nothing needs that
  // checkpoint any more.
  await releaseFence(tx, key)
  await abandonPublications(tx, key, now)
  await abandonMerges(tx, key, now)
  await abandonFollowUps(tx, key, { reason: 'session_ended', pullNumber: null }, now)
  for (const sandbox of await cancelVerifications(tx, key, now)) {
    await holdSession(tx, sandbox)
    await closeSession(tx, sandbox, null, now)
  }
  await endLease(tx, key, 'archived', now)
  await markArchived(tx, key, now)
}
