import { deleteWorkspaceRequest, failWorkspaceRequest } from '../leases/workspace-request-sql.ts'
import { releaseFence } from '../runs/fence-sql.ts'
import { NATIVE_RUNTIME } from '../runtimes/catalog.ts'
import { findSession } from '../sessions/session-sql.ts'
import { DatabaseUnavailable } from '../storage/database-errors.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { Claim } from './execution-sql.ts'
import { announce } from './finish.ts'
import { freezeAtRest } from './freeze-lease.ts'
import { ClaimLost } from './interruption.ts'
import { provision, SessionArchived } from './provision.ts'
import { underFence } from './under-fence.ts'

/** Works off a request for a Session's workspace: a sandbox with the last checkpoint in it, and no agent yet. */
export async function restoreWorkspace(context: ExecutionContext, claim: Claim, signal: AbortSignal): Promise<void> {
  let failed = false
  try {
    const session = await findSession(context.db, claim)
    const runtime = context.runtimes.find(session?.runtime ?? NATIVE_RUNTIME)
    if (session === null || session.archived_at !== null || runtime === null) failed = true
    else await provision(context, claim, runtime, signal)
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    if (!(error instanceof SessionArchived)) {
      context.log.warn({ err: error, sessionId: claim.sessionId }, 'a workspace could not be restored')
    }
    failed = true
  }
  await underFence(context, claim, async tx => {
    if (failed) await failWorkspaceRequest(tx, claim, context.clock.now())
    else await deleteWorkspaceRequest(tx, claim)
    await releaseFence(tx, claim)
  })
  announce(context, claim)
  await freezeAtRest(context, claim)
}
