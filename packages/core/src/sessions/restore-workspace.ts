import type { Session } from '@berth/contract'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { listen } from '@berth/platform/storage/postgres/listen.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { requireCompute } from '../runtimes/own-hosts.ts'
import { endLease } from './leases/end-lease.ts'
import { touchLease } from './leases/lease-sql.ts'
import {
  deleteWorkspaceRequest,
  readWorkspaceRequest,
  requestWorkspace,
  workspaceIsBeingMade,
} from './leases/workspace-request-sql.ts'
import { hasOpenPublication } from './publications/publication-sql.ts'
import { lockVisibleSession } from './session/read-session.ts'
import { continuationOfSession, type SessionRow, toSession } from './session/session.ts'
import { findSession } from './session/session-sql.ts'

/** The step that the Session's state calls for when a caller wants its workspace. */
type Decision = 'attached' | 'renew' | 'starting' | 'provision'

/**
 * Brings the Session's workspace back, or leaves it alone if it has enough time left; it never makes a second sandbox.
 * It does not race the Session's lifecycle: during a Run or its sealing it refuses, or waits if that brings the
 * workspace up.
 * @throws ApiError 404
 * @throws ApiError 409 `cloud_resume_unavailable`, `cloud_session_finalizing`, `cloud_publication_in_progress` or
 *   `cloud_run_in_progress`
 * @throws ApiError 403 `cloud_compute_not_configured` or 409 `cloud_compute_outdated`
 * @throws ApiError 503 `cloud_workspace_starting` if the wait is over, `cloud_workspace_unavailable` if none could be
 *   made
 */
export async function restoreWorkspace(
  context: Context,
  principal: Principal,
  key: SessionKey,
  signal: AbortSignal,
): Promise<Session> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(context.workspaceWaitMs)])
  let requested = false
  for (;;) {
    using moved = listen(context.wakeups, topics.session(key.organizationId, key.sessionId))
    const step = await context.db.transaction(tx => take(tx, context, principal, key, requested))
    if (step === 'failed') throw refusal('cloud_workspace_unavailable')
    if (step === 'ended') {
      context.wakeups.publish(topics.session(key.organizationId, key.sessionId), topics.leases)
      continue
    }
    if (step !== 'starting' && step !== 'asked') return toSession(step, context)
    if (step === 'asked') {
      requested = true
      context.wakeups.publish(topics.queue)
    }
    await moved.once(deadline)
    if (!deadline.aborted) continue
    // No worker has taken the request up, so none that makes sandboxes is within reach.
    const idle = step === 'asked' && !(await workspaceIsBeingMade(context.db, key))
    throw refusal(idle ? 'cloud_workspace_unavailable' : 'cloud_workspace_starting')
  }
}

/** Takes one step under the lock: does it, or asks a worker for it. */
async function take(
  tx: Queryable,
  context: Context,
  principal: Principal,
  key: SessionKey,
  requested: boolean,
): Promise<SessionRow | 'starting' | 'asked' | 'ended' | 'failed'> {
  const now = context.clock.now()
  const session = await lockVisibleSession(tx, principal, key)
  const publishing = await hasOpenPublication(tx, key)
  switch (decide(session, publishing, context, now)) {
    case 'attached':
      return session
    case 'renew': {
      await touchLease(tx, key, now)
      const renewed = (await findSession(tx, key)) ?? session
      if ((renewed.lease_expires_at?.getTime() ?? 0) > now.getTime()) return renewed
      // The lease is past its bound and not swept yet; end it to make room for a new one.
      await endLease(tx, key, 'expired', now)
      return 'ended'
    }
    case 'starting':
      return 'starting'
    case 'provision':
      await requireCompute(tx, key.organizationId)
      return ask(tx, key, requested, now)
  }
}

/**
 * Asks a worker for the workspace, or reports that it has failed. The caller holds the Session's lock and has seen that no
 * workspace is attached.
 * @param requested true if this caller has asked before: only then does a failure answer its request
 * @returns `failed` if a worker has given up, so the wait is over
 */
async function ask(tx: Queryable, key: SessionKey, requested: boolean, now: Date): Promise<'asked' | 'failed'> {
  const request = await readWorkspaceRequest(tx, key)
  // Kept for the other callers who have asked; the next new caller starts a new request.
  if (request === 'failed' && requested) return 'failed'
  if (request === 'failed') await deleteWorkspaceRequest(tx, key)
  if (request !== 'open') await requestWorkspace(tx, key, now)
  return 'asked'
}

function decide(session: SessionRow, publishing: boolean, context: Context, now: Date): Decision {
  if (session.archived_at !== null) throw sessionNotFound()
  const leftMs = session.lease_held ? (session.lease_expires_at?.getTime() ?? 0) - now.getTime() : 0
  if (session.lease_held && leftMs >= (session.lease_idle_ms ?? 0) / 3) return 'attached'
  const running = session.active_run_status
  if (running === null && !continuationOfSession(session, context).canContinue) {
    throw refusal('cloud_resume_unavailable')
  }
  if (session.finalizing) throw refusal('cloud_session_finalizing')
  if (publishing) throw refusal('cloud_publication_in_progress')
  if (running === 'queued' || running === 'dispatching') return 'starting'
  if (running !== null) throw refusal('cloud_run_in_progress')
  return session.lease_held ? 'renew' : 'provision'
}
