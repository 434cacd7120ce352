import type { Outcome, RunRow } from '../../sessions/runs/run.ts'
import type { RunBudgets } from '../../settings/run-budgets.ts'
import { deadlineExceeded } from '../claim/finish.ts'

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
