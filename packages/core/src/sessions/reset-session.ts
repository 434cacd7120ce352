import type { Session } from '@berth/contract'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { dropCheckpoints } from '../checkpoints/checkpoint-sql.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { appendEvents } from './log/append.ts'
import { lockVisibleSession } from './session/read-session.ts'
import { continuationOfSession, toSession } from './session/session.ts'
import { clearContinuation, findSession, listBegunRuns } from './session/session-sql.ts'

/**
 * Lets a Session whose earlier work is lost begin afresh. The log stays and names the Runs whose work was lost. The
 * next Turn starts in an empty workspace, or a new checkout of the Session's source. A Session that could still
 * continue is not reset, so a second call is refused.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_run_in_progress`, `cloud_session_finalizing` or, unless `continuation` is `unavailable`
 *   with `checkpoint_missing`, `cloud_reset_unavailable`
 */
export async function resetSession(context: Context, principal: Principal, key: SessionKey): Promise<Session> {
  const now = context.clock.now()
  const reset = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) throw sessionNotFound()
    if (session.active_run_id !== null) throw refusal('cloud_run_in_progress')
    if (session.finalizing) throw refusal('cloud_session_finalizing')
    const { state, reason } = continuationOfSession(session, context)
    if (state !== 'unavailable' || reason !== 'checkpoint_missing') throw refusal('cloud_reset_unavailable')
    const lostRunIds = await listBegunRuns(tx, key)
    await clearContinuation(tx, key)
    // Even an intact one before the last: a later seal must not build on packs whose blobs may be missing.
    await dropCheckpoints(tx, key)
    const data = { reason: 'checkpoint_missing', lostRunIds }
    await appendEvents(tx, key, [{ type: 'svc.conversation.cleared', visibility: 'transcript', data }], now)
    return (await findSession(tx, key)) ?? session
  })
  context.wakeups.publish(topics.session(key.organizationId, key.sessionId))
  return toSession(reset, context)
}
