import { findResumable, hasCheckpoint } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { settleEarlier } from '@berth/core/sessions/interactions/interaction-sql.ts'
import { abandonUnfinished, endLease } from '@berth/core/sessions/leases/end-lease.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { endRun } from '@berth/core/sessions/runs/end-run.ts'
import { releaseFence } from '@berth/core/sessions/runs/fence-sql.ts'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import { findRun, hasEarlierWork, requeueRun } from '@berth/core/sessions/runs/run-sql.ts'
import { offerSteeringAgain } from '@berth/core/sessions/turns/turn-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Claim, RunClaim } from './claim.ts'
import type { ExecutionContext, WorkerContext } from './execution-context.ts'
import { underFence } from './under-fence.ts'

/** Before a Run is started again, for each time that it was. */
const PAUSE_MS = 250

/** An attempt that ended without its agent's answer. */
export interface Loss {
  /** True if the sandbox is gone with its content. */
  readonly sandboxLost: boolean
  /** True if the host went away, so that the loss says nothing of the Run. */
  readonly hostLost?: boolean
  /** The Run's outcome if it is not started again. */
  readonly outcome: Outcome
  /** Keeps the Run's presented files before its end. */
  readonly keep?: () => Promise<void>
}

/** The worker could not continue with the agent, for a cause outside the agent. */
export const executionLost: Outcome = {
  status: 'crashed',
  stopReason: 'engine_unreachable',
  errorCode: 'turn_execution_lost',
}

/** The Run, or its sandbox, reached the platform's bound. */
export const deadlineExceeded: Outcome = {
  status: 'crashed',
  stopReason: 'execution_deadline',
  errorCode: 'turn_execution_lost',
}

/**
 * Ends the Run of a claim, and gives up a sandbox that was being made for it.
 *
 * @throws ClaimLost
 */
export async function endClaimedRun(context: ExecutionContext, claim: RunClaim, outcome: Outcome): Promise<void> {
  await underFence(context, claim, async tx => {
    const now = context.clock.now()
    await abandonUnfinished(tx, claim, now, outcome.status === 'cancelled' ? 'cancelled' : 'apply_failed')
    await endRun(tx, claim, claim.run.id, outcome, now)
  })
  announce(context, claim)
}

/**
 * Records a lost attempt and decides once if the Run is started again. It is if no tool call was recorded, because then
 * nothing that it did can be done twice. The work that it builds on must not be lost with the sandbox, and the number
 * of attempts is bounded. Otherwise it ends. A cancelled Run is never started again. An attempt whose agent never began
 * counts as none if it was lost with its host, and as a handover. The caller holds the Session's lock and the fence.
 */
export async function settleLoss(
  tx: Queryable,
  context: Pick<ExecutionContext, 'clock' | 'limits'>,
  claim: RunClaim,
  loss: Loss,
): Promise<void> {
  const now = context.clock.now()
  const run = await findRun(tx, claim, claim.run.id)
  if (run === null || run.ended_at !== null) return
  if (loss.sandboxLost) await endLease(tx, claim, 'lost', now)
  if (run.cancel_requested_at !== null) {
    await loss.keep?.()
    await endRun(tx, claim, run.id, { status: 'cancelled', stopReason: 'aborted' }, now)
    return
  }
  const { maxAttempts, maxHandovers } = context.limits
  const unbegun =
    loss.hostLost === true && run.status === 'dispatching' && run.handovers < maxHandovers
      ? { handovers: run.handovers + 1 }
      : undefined
  const repeatable =
    run.tool_calls === 0 &&
    (unbegun !== undefined || run.attempts < maxAttempts) &&
    // A Run that was parked goes on from its checkpoint, because people have already answered it.
    !(await hasCheckpoint(tx, claim, run.id)) &&
    (!loss.sandboxLost || (await canBeginAgain(tx, claim)))
  if (repeatable) {
    await settleEarlier(tx, claim, run.id, null, now)
    await offerSteeringAgain(tx, claim, run.id)
    await requeueRun(tx, claim, run.id, { now, pauseMs: PAUSE_MS * (unbegun?.handovers ?? run.attempts), unbegun })
    await releaseFence(tx, claim)
  } else {
    await loss.keep?.()
    await endRun(tx, claim, run.id, loss.outcome, now)
  }
}

/**
 * Returns true if a fresh sandbox can reach the state at this Run's beginning: earlier work is sealed, or there is
 * none.
 */
async function canBeginAgain(tx: Queryable, claim: RunClaim): Promise<boolean> {
  return !(await hasEarlierWork(tx, claim, claim.runId)) || (await findResumable(tx, claim)) !== null
}

/**
 * Calls `settleLoss` in its own transaction.
 *
 * @throws ClaimLost
 */
export async function loseAttempt(context: ExecutionContext, claim: RunClaim, loss: Loss): Promise<void> {
  await underFence(context, claim, tx => settleLoss(tx, context, claim, loss))
  announce(context, claim)
}

/**
 * Gives a Run back for which nothing was done because no host had room for it after all. That costs it nothing.
 *
 * @returns false if it is no Run that waits for its first sandbox
 * @throws ClaimLost
 */
export async function giveBackUnplaced(
  context: Pick<ExecutionContext, 'db' | 'clock' | 'wakeups'>,
  claim: Claim,
): Promise<boolean> {
  return await underFence(context, claim, async (tx, task) => {
    if (claim.runId === null || task !== 'run' || (await findLiveLease(tx, claim)) !== null) return false
    const run = await findRun(tx, claim, claim.runId)
    if (run?.status !== 'dispatching') return false
    const { handovers } = run
    await requeueRun(tx, claim, run.id, { now: context.clock.now(), pauseMs: PAUSE_MS, unbegun: { handovers } })
    await releaseFence(tx, claim)
    return true
  })
}

/**
 * Gives a claim back whose sandbox was being made at a host that is gone from this process. Nothing has begun in it, so nobody
 * waits for that host. A request for a workspace stands, and whoever claims it next makes another one.
 *
 * @returns false if there is more than such a sandbox
 * @throws ClaimLost
 */
export async function giveBackUnmade(context: WorkerContext, claim: Claim | RunClaim): Promise<boolean> {
  const given = await underFence(context, claim, async (tx, task) => {
    const lease = await findLiveLease(tx, claim)
    if (task === 'restore' && lease?.state === 'creating') {
      await endLease(tx, claim, 'abandoned', context.clock.now())
      await releaseFence(tx, claim)
      return true
    }
    if (task !== 'run' || !('run' in claim)) return false
    const run = await findRun(tx, claim, claim.runId)
    if (lease?.state !== 'creating' || run?.status !== 'dispatching') return false
    await endLease(tx, claim, 'abandoned', context.clock.now())
    await settleLoss(tx, context, claim, { sandboxLost: false, hostLost: true, outcome: executionLost })
    return true
  })
  if (given) context.wakeups.publish(topics.leases)
  if (given) announce(context, claim)
  return given
}

/** Wakes readers of the log, any other worker of the Session, and workers for Runs that may be queued. */
export function announce(context: Pick<ExecutionContext, 'wakeups'>, claim: Claim): void {
  context.wakeups.publish(
    topics.session(claim.organizationId, claim.sessionId),
    topics.control(claim.organizationId, claim.sessionId),
    topics.queue,
  )
}
