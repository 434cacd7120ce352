import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import type { SessionKey } from '../kit/session-key.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import { closeInteractions } from './interactions/close-interactions.ts'
import { abandonUnfinished, endLease } from './leases/end-lease.ts'
import { withdrawWorkspaceRequest } from './leases/request-workspace.ts'
import { abandonMerges } from './merges/abandon-merges.ts'
import { abandonPublications } from './publications/under-way.ts'
import { endRun } from './runs/end-run.ts'
import { releaseFence } from './runs/fence-sql.ts'
import { lockVisibleSession } from './session/lock-session.ts'
import { markArchived } from './session/session-sql.ts'

/**
 * Closes a Session for good: cancels its Run, ends its lease and abandons deliveries that have not begun; the log
 * stays. The worker that runs the sandbox loses its fence with this commit and destroys every sandbox that no lease
 * names.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function archiveSession(context: Context, principal: Principal, key: SessionKey): Promise<void> {
  const now = context.clock.now()
  await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) return
    await closeInteractions(tx, key, 'session_archived', now)
    await abandonUnfinished(tx, key, now, 'session_archived')
    if (session.active_run_id !== null) {
      await endRun(tx, key, session.active_run_id, { status: 'cancelled', stopReason: 'aborted' }, now)
    }
    // Before the fence: a worker's claim needs the request, so no claim can come between the two.
    await withdrawWorkspaceRequest(tx, key)
    // Releases the fence even without an active Run: the last Run may still be sealing, and nothing needs that
    // checkpoint any more.
    await releaseFence(tx, key)
    await abandonPublications(tx, key, now)
    await abandonMerges(tx, key, now)
    await endLease(tx, key, 'archived', now)
    await markArchived(tx, key, now)
  })
  context.wakeups.publish(
    topics.session(key.organizationId, key.sessionId),
    topics.control(key.organizationId, key.sessionId),
    topics.leases,
  )
}
