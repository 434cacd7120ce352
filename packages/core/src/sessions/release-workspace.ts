import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { isAllWorkSealed } from '../checkpoints/checkpoint-sql.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { endLease } from './leases/end-lease.ts'
import { readWorkspaceRequest } from './leases/workspace-request-sql.ts'
import { hasOpenPublication } from './publications/publication-sql.ts'
import { lockVisibleSession } from './session/read-session.ts'
import { continuationOfSession, type SessionRow } from './session/session.ts'
import { findSession } from './session/session-sql.ts'
import { sealBeforeRelease } from './terminals/seal-terminal-work.ts'

/**
 * Gives the Session's workspace back, so that the next Turn gets a fresh sandbox with its sealed work. A Session
 * without a workspace stays as it is.
 *
 * Everything that could use the sandbox decides under the same lock: a Turn that is admitted later finds no lease and
 * makes a new one.
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_session_finalizing`, also if somebody worked at a terminal since the last seal: that work is
 *   sealed first; `cloud_publication_in_progress` or `cloud_run_in_progress`
 * @throws ApiError 409 `cloud_resume_unavailable` if the Session could not continue without this sandbox
 * @throws ApiError 503 `cloud_workspace_starting` while a worker makes the workspace for a caller
 */
export async function releaseWorkspace(context: Context, principal: Principal, key: SessionKey): Promise<void> {
  const step = await context.db.transaction<'none' | 'sealing' | 'released'>(async tx => {
    const now = context.clock.now()
    const session = await lockVisibleSession(tx, principal, key)
    await requireIdle(tx, key, session)
    if (!session.lease_held) return 'none'
    if (await sealBeforeRelease(tx, key, now)) return 'sealing'
    await endLease(tx, key, 'expired', now)
    if (!(await canContinue(tx, key, context))) throw refusal('cloud_resume_unavailable')
    return 'released'
  })
  if (step === 'none') return
  const woken = step === 'sealing' ? topics.queue : topics.leases
  context.wakeups.publish(topics.session(key.organizationId, key.sessionId), woken)
  if (step === 'sealing') throw refusal('cloud_session_finalizing')
}

async function requireIdle(tx: Queryable, key: SessionKey, session: SessionRow): Promise<void> {
  if (session.archived_at !== null) throw sessionNotFound()
  if (session.finalizing) throw refusal('cloud_session_finalizing')
  if (await hasOpenPublication(tx, key)) throw refusal('cloud_publication_in_progress')
  if (session.active_run_status !== null) throw refusal('cloud_run_in_progress')
  if ((await readWorkspaceRequest(tx, key)) === 'open') throw refusal('cloud_workspace_starting')
}

/** Returns true if everything that the ended lease held is sealed and can be restored. */
async function canContinue(tx: Queryable, key: SessionKey, context: Context): Promise<boolean> {
  const left = await findSession(tx, key)
  if (left === null || !continuationOfSession(left, context).canContinue) return false
  // An older checkpoint would do to continue, but without the work of the newest Run.
  return isAllWorkSealed(tx, key, left)
}
