import { workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import type { Outcome, RunRow } from '@berth/core/sessions/runs/run.ts'
import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { ClaimLost, type RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { deadlineExceeded } from '../claim/finish.ts'
import { taskOf } from '../claim/hold-sql.ts'

/**
 * Time that a worker has to reach an agent which is to be stopped. Usually it takes milliseconds, and then the agent stops by
 * itself, which keeps its conversation whole.
 */
const REACH_MS = 3_000

/** The Run has to end, and its worker has not reached the agent. */
export class UnreachedEnd extends Error {
  override readonly name = 'UnreachedEnd'
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super('the run has to end before its agent was reached')
    this.outcome = outcome
  }
}

/** What a worker remembers of its ways to the agent of one Run. */
export interface Approaches {
  /** Since when the Run has to end, by the clock of `performance.now()`; null while it may go on. */
  overSince: number | null
}

/**
 * Watches a Run for a cancellation and for its deadlines while its worker is on the way to the agent: a host may accept a call and
 * never answer, and one that is away may stay so. `watchAttempt` goes on from there. The signal is aborted with `UnreachedEnd`,
 * with `ClaimLost` if somebody else has ended the Run, and with the reason of `outer`.
 */
export function watchApproach(
  { db, clock, limits, wakeups }: ExecutionContext,
  claim: RunClaim,
  { budgets, approaches }: { readonly budgets: Promise<RunBudgets>; readonly approaches: Approaches },
  outer: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const interrupt = new AbortController()
  const reachMs = Math.min(REACH_MS, limits.cancelGraceMs)
  let over = false
  let timer: NodeJS.Timeout | undefined
  const checkIn = (delayMs: number) => {
    clearTimeout(timer)
    if (!over) timer = setTimeout(checkAgain, Math.max(0, Math.min(delayMs, limits.pulseMs)))
  }
  const check = async () => {
    const [run, lease, given] = await Promise.all([findRun(db, claim, claim.runId), findLiveLease(db, claim), budgets])
    if (run === null || (run.ended_at !== null && (await taskOf(db, claim)) !== 'seal')) throw new ClaimLost()
    // An apply watches by itself, and ends with its Run.
    if (run.ended_at !== null || lease?.state === 'applying') return checkIn(limits.pulseMs)
    const endsAt = lease === null ? Number.POSITIVE_INFINITY : workEndsAt(lease).getTime()
    const now = clock.now()
    const deadline = deadlineOf(run, { endsAt, runMs: limits.runMs, budgets: given }, now)
    const leftMs = deadline.at - now.getTime()
    const outcome = outcomeOf(run.cancel_requested_at !== null, run.awaiting_since === null && leftMs <= 0, deadline)
    if (outcome === null) {
      approaches.overSince = null
      return checkIn(leftMs)
    }
    approaches.overSince ??= performance.now()
    const reachLeftMs = approaches.overSince + reachMs - performance.now()
    if (reachLeftMs > 0) return checkIn(reachLeftMs)
    throw new UnreachedEnd(outcome)
  }
  function checkAgain() {
    check().catch((error: unknown) => {
      // The worker notices a database that is away by itself.
      if (error instanceof DatabaseUnavailable) checkIn(limits.pulseMs)
      else if (!over) interrupt.abort(error)
    })
  }
  const unsubscribe = wakeups.subscribe(topics.control(claim.organizationId, claim.sessionId), checkAgain)
  checkAgain()
  return {
    signal: AbortSignal.any([outer, interrupt.signal]),
    [Symbol.dispose]() {
      over = true
      clearTimeout(timer)
      unsubscribe()
    },
  }
}

const outcomeOf = (cancelled: boolean, late: boolean, deadline: { readonly outcome: Outcome }): Outcome | null => {
  if (cancelled) return { status: 'cancelled', stopReason: 'aborted' }
  return late ? deadline.outcome : null
}

/** The outcome of a Run that spent its time budget. It is stopped as at a deadline, but completes and loses no work. */
const timeBudgetSpent: Outcome = { status: 'completed', stopReason: 'time_budget' }

/** The bounds of a Run's time. */
export interface RunBounds {
  /** When work in its sandbox must end, in milliseconds since 1970. */
  readonly endsAt: number
  readonly runMs: number
  readonly budgets: RunBudgets
}

/**
 * Returns when the Run must end: at its own bound, ahead of its sandbox's bound, or when its time budget is spent,
 * whichever is first. Its own time stands still while it waits for people.
 *
 * @returns milliseconds since 1970, and the outcome at that time
 */
export function deadlineOf(
  { started_at, awaiting_since, awaited_ms }: RunRow,
  { endsAt, runMs, budgets }: RunBounds,
  now: Date,
): { readonly at: number; readonly outcome: Outcome } {
  if (awaiting_since !== null) return { at: endsAt, outcome: deadlineExceeded }
  const begun = (started_at ?? now).getTime() + awaited_ms
  const spentAt = begun + (budgets.seconds ?? Number.POSITIVE_INFINITY) * 1000
  const at = Math.min(begun + runMs, endsAt)
  return spentAt < at ? { at: spentAt, outcome: timeBudgetSpent } : { at, outcome: deadlineExceeded }
}
