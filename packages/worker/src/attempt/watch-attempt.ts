import { findBudgetQuestion, hasOpenApproval } from '@berth/core/sessions/interactions/interaction-sql.ts'
import { workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import { type LeaseRow, touchLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { isUnauthorized } from '@berth/core/sessions/runs/authority-sql.ts'
import type { Outcome, RunRow } from '@berth/core/sessions/runs/run.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { ClaimLost, type RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { taskOf } from '../claim/hold-sql.ts'
import { underFence } from '../claim/under-fence.ts'
import type { SupervisorConnection } from '../supervisor/connection.ts'
import { SandboxFrozenError } from '../supervisor/errors.ts'
import { STOP_GRACE_MS } from './agent-orders.ts'
import { startFailed } from './attempt-end.ts'
import type { RunAttempt } from './run-attempt.ts'
import { deadlineOf } from './watch-approach.ts'

/** Bounds the grace of an agent whose authority has ended, even if cancellations get longer. */
const REVOKED_GRACE_MS = 3_000

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A running attempt and its bounds. */
export interface Watched {
  readonly claim: RunClaim
  readonly lease: LeaseRow
  readonly attempt: RunAttempt
  readonly connection: SupervisorConnection
  /** True if the Run is parked when it has waited for people for `parkMs`, or until its sandbox ends. */
  readonly parks: boolean
  readonly budgets: RunBudgets
}

/**
 * Watches an attempt for a cancellation and its grace, for the deadlines of start and Run, and for a silent supervisor.
 * It also renews the lease before its idle time runs out. Each event ends the agent or interrupts the connection; the
 * attempt then decides the outcome. If the agent survives its supervisor's order to stop, the sandbox counts as lost.
 *
 * @param interrupt ends the connection for this reason
 */
export function watchAttempt(
  context: ExecutionContext,
  { claim, lease, attempt, connection, parks, budgets }: Watched,
  interrupt: (reason: Error) => void,
): Disposable {
  const { limits, clock } = context
  const timers = new Set<NodeJS.Timeout>()
  let over = false
  const later = (work: () => Promise<void>, delayMs: number) => {
    if (over) return
    const run = () => {
      timers.delete(timer)
      work().catch(interrupt)
    }
    const timer = setTimeout(run, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS))
    timers.add(timer)
    return timer
  }
  const end = async (outcome: Outcome, why: string) => {
    await attempt.stop(outcome, why)
    later(async () => {
      throw new SandboxFrozenError('the agent did not end after its supervisor was told to stop it')
    }, STOP_GRACE_MS + limits.pingMs)
  }

  const expire = async (outcome: Outcome) => {
    later(() => end(outcome, 'deadline'), limits.cancelGraceMs)
    await attempt.expire(outcome)
  }
  const bounds = { endsAt: workEndsAt(lease).getTime(), runMs: limits.runMs, budgets }
  let deadline: { readonly at: number; readonly begun: boolean; readonly timer: NodeJS.Timeout | undefined } | null =
    null
  const holdTo = (run: RunRow) => {
    const now = clock.now()
    const { at } = deadlineOf(run, bounds, now)
    const begun = run.started_at !== null
    // The timer runs before the Run has begun, so it may strike early, and reads the Run again. The first look at the begun Run
    // leaves it alone: the clock may have been set in between.
    const stays = deadline?.begun === false && run.awaiting_since === null
    if (deadline !== null && (stays || deadline.at === at)) {
      deadline = { ...deadline, at, begun }
      return
    }
    clearTimeout(deadline?.timer)
    deadline = { at, begun, timer: later(strike, at - now.getTime()) }
  }
  /** Reads the Run again: it may have begun to wait for people, which moves the deadline. */
  const strike = async () => {
    const run = await findRun(context.db, claim, claim.run.id)
    if (run === null || run.ended_at !== null) return
    deadline = null
    const { at, outcome } = deadlineOf(run, bounds, clock.now())
    if (at > clock.now().getTime()) holdTo(run)
    else if (!(await canPark(run, 0)) || !(await attempt.park())) await expire(outcome)
  }
  const canPark = async (run: RunRow, afterMs: number) =>
    parks && waitedLong(run, afterMs, clock.now()) && !(await hasOpenApproval(context.db, claim))

  // A budget refuses one sub-agent while others work, and what they have said is nowhere but in their process.
  const losesSubAgents = async ({ open_calls: calls }: RunRow) =>
    calls.length > 0 && (await findBudgetQuestion(context.db, claim, claim.runId)) !== null

  let cancelling = false
  const check = async () => {
    if (cancelling) return
    const run = await findRun(context.db, claim, claim.run.id)
    if (run === null) throw new ClaimLost()
    // A Run that was cancelled or stopped while it waited for people has ended; this worker releases its agent and seals it.
    if (run.ended_at !== null && (await taskOf(context.db, claim)) !== 'seal') throw new ClaimLost()
    if (cancelling) return
    if (run.cancel_requested_at === null && run.ended_at === null) {
      holdTo(run)
      await attempt.answer()
      // A command in the background would end with the sandbox; a server may be what people are asked about.
      const keeps = attempt.hasCommands || (await losesSubAgents(run))
      if (!keeps && (await canPark(run, limits.parkMs))) await attempt.park()
      return
    }
    const revoked = await isUnauthorized(context.db, claim, claim.runId)
    if (cancelling) return
    cancelling = true
    const graceMs = revoked ? Math.min(limits.cancelGraceMs, REVOKED_GRACE_MS) : limits.cancelGraceMs
    later(() => end({ status: 'cancelled', stopReason: 'aborted' }, 'grace'), graceMs)
    await attempt.cancel()
  }
  const checkAgain = () => {
    check().catch(error => {
      // The attempt notices a database that is away when it next writes.
      if (!(error instanceof DatabaseUnavailable)) interrupt(error)
    })
  }
  const unsubscribe = context.wakeups.subscribe(topics.control(claim.organizationId, claim.sessionId), checkAgain)
  checkAgain()

  later(async () => {
    if (attempt.prompted) return
    context.log.warn({ runId: claim.run.id }, 'a runtime did not start in time')
    await end(startFailed, 'start')
  }, limits.agentStartMs)
  holdTo(claim.run)

  const renew = async () => {
    await underFence(context, claim, tx => touchLease(tx, claim, clock.now())).catch(unlessAway)
    later(renew, lease.idle_ms / 3)
  }
  later(renew, lease.idle_ms / 3)

  const pulse = async () => {
    await thaw()
    await connection.ping(limits.pingMs).catch(async error => {
      if (over || !(error instanceof SandboxFrozenError) || !(await thaw())) throw error
    })
    checkAgain()
    later(pulse, limits.pulseMs)
  }
  /**
   * Thaws the sandbox: a worker that lost its claim during a long pause may have frozen it under another worker's Run.
   */
  const thaw = async () => {
    const frozen = await context.driver.thaw(lease.id)
    if (frozen) context.log.warn({ runId: claim.run.id, leaseId: lease.id }, 'a sandbox was frozen under its run')
    return frozen
  }
  later(pulse, limits.pulseMs)

  return {
    [Symbol.dispose]() {
      over = true
      unsubscribe()
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

const waitedLong = ({ awaiting_since: since }: RunRow, parkMs: number, now: Date): boolean =>
  since !== null && now.getTime() - since.getTime() >= parkMs

/** Ignores a database that is away; the attempt notices it. */
function unlessAway(error: unknown): void {
  if (!(error instanceof DatabaseUnavailable)) throw error
}
