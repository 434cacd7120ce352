import { NATIVE_RUNTIME } from '@berth/core/runtimes/catalog.ts'
import { concludeVerification } from '@berth/core/sessions/conclude-verification.ts'
import { abandonUnfinished } from '@berth/core/sessions/leases/end-lease.ts'
import {
  countTriesOfRequest,
  deleteWorkspaceRequest,
  failWorkspaceRequest,
} from '@berth/core/sessions/leases/workspace-request-sql.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import { findSession } from '@berth/core/sessions/session/session-sql.ts'
import { concludeTrial } from '@berth/core/sessions/trials/conclude-trial.ts'
import { subjectOf } from '@berth/core/sessions/verifications/begin-verification.ts'
import { findVerificationOfSandbox } from '@berth/core/sessions/verifications/verification-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Claim, ClaimLost } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { announce } from '../claim/finish.ts'
import { underFence } from '../claim/under-fence.ts'
import { freezeAtRest } from './freeze-lease.ts'
import { HostSpent, isLostWithHost, ProvisionFailed, provision, SessionArchived } from './provision.ts'

/**
 * Carries out a request for a Session's workspace: makes a sandbox with the last checkpoint in it, and no agent yet.
 * If that fails at a host that dials, the request stands for another host, as often as a Run would begin again.
 */
export async function executeRestore(context: ExecutionContext, claim: Claim, signal: AbortSignal): Promise<void> {
  let leaseId: string | null = null
  let isTrial = false
  try {
    const session = await findSession(context.db, claim)
    isTrial = session?.is_trial === true
    const runtime = context.runtimes.find(session?.runtime ?? NATIVE_RUNTIME)
    // Claims that ended with the line to their host were given back without a look at their number.
    const spent = (await countTriesOfRequest(context.db, claim)) > context.limits.maxHandovers
    if (session !== null && session.archived_at === null && runtime !== null && !spent) {
      leaseId = (await provision(context, claim, runtime, signal)).id
    }
  } catch (error) {
    if (signal.aborted || error instanceof ClaimLost || error instanceof DatabaseUnavailable) throw error
    // The request stands, and the next claim gets another host.
    if (error instanceof HostSpent) return
    if (error instanceof ProvisionFailed && (await isTriedAgain(context, claim, error))) {
      context.log.warn({ err: error, sessionId: claim.sessionId }, 'a workspace is made again at another host')
      return
    }
    if (!(error instanceof SessionArchived)) {
      context.log.warn({ err: error, sessionId: claim.sessionId }, 'a workspace could not be restored')
    }
  }
  const failed = leaseId === null
  const verification = isTrial ? await findVerificationOfSandbox(context.db, claim) : null
  const subject = verification === null ? null : subjectOf(verification)
  const settle = async (tx: Queryable) => {
    // Whoever asks again gets another sandbox.
    if (failed) await abandonUnfinished(tx, claim, context.clock.now())
    if (failed) await failWorkspaceRequest(tx, claim, context.clock.now())
    else await deleteWorkspaceRequest(tx, claim)
    await releaseFence(tx, claim)
    // In the transaction that settles the apply: no crash leaves a trial whose sandbox stays.
    if (verification !== null) await concludeVerification(tx, claim, verification, leaseId, context.clock.now())
    else if (isTrial) await concludeTrial(tx, claim, failed ? 'failed' : 'succeeded', context.clock.now())
  }
  await underFence(context, claim, settle, subject)
  if (isTrial) context.wakeups.publish(topics.leases)
  if (subject !== null) context.wakeups.publish(topics.session(subject.organizationId, subject.sessionId))
  context.git.retire(claim)
  announce(context, claim)
  await freezeAtRest(context, claim)
}

/** Returns whether another host shall make the workspace: this one may be gone, which has many faces. */
async function isTriedAgain(context: ExecutionContext, claim: Claim, failed: ProvisionFailed): Promise<boolean> {
  if (context.driver.kind !== 'remote') return false
  const { maxAttempts, maxHandovers } = context.limits
  const most = isLostWithHost(context, failed) ? maxHandovers : maxAttempts - 1
  return (await countTriesOfRequest(context.db, claim)) <= most
}
