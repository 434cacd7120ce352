import type { Run } from '@berth/contract'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { endRun } from './end-run.ts'
import { isTerminal, toRun } from './run.ts'
import { lockRun, requestCancel } from './run-sql.ts'

/**
 * Asks a Run to stop. A queued or awaiting Run has nothing to stop and ends at once; a running one ends when its agent
 * has. A second call, or one on a Run that has ended, changes nothing. An archived Session takes no command.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function cancelRun(context: Context, principal: Principal, key: SessionKey, runId: string): Promise<Run> {
  const now = context.clock.now()
  const run = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) throw sessionNotFound()
    const row = await lockRun(tx, key, runId)
    if (row === null) throw sessionNotFound()
    if (isTerminal(row.status)) return toRun(row)
    if (row.status === 'queued' || row.status === 'awaiting') {
      // The worker that holds an awaiting Run stops its agent and seals the workspace.
      const seal = row.status === 'awaiting'
      await endRun(tx, key, runId, { status: 'cancelled', stopReason: 'aborted' }, now, { seal })
    } else {
      await requestCancel(tx, key, runId, now)
      await closeInteractions(tx, key, 'run_cancelled', now)
    }
    const after = await lockRun(tx, key, runId)
    return toRun(after ?? row)
  })
  context.wakeups.publish(
    topics.session(key.organizationId, key.sessionId),
    topics.control(key.organizationId, key.sessionId),
  )
  return run
}
