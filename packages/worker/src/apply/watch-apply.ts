import { findRun } from '@berth/core/sessions/runs/run-sql.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Claim, ClaimLost } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { ApplyFailed } from './apply-failed.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Watches the Run for which an environment is applied. The resulting signal is aborted with an `ApplyFailed` if the Run
 * is cancelled, with `ClaimLost` if somebody else has ended it, and with the reason of `outer`.
 *
 * @param leftMs time that the apply has; after it the signal is aborted with an `ApplyFailed` too
 */
export function watchApply(
  { db, limits, wakeups }: ExecutionContext,
  claim: Claim,
  outer: AbortSignal,
  leftMs = LONGEST_TIMER_MS,
): Disposable & { readonly signal: AbortSignal } {
  const interrupt = new AbortController()
  const check = async () => {
    if (claim.runId === null) return
    const run = await findRun(db, claim, claim.runId)
    if (run === null || run.ended_at !== null) interrupt.abort(new ClaimLost())
    else if (run.cancel_requested_at !== null) interrupt.abort(new ApplyFailed('cancelled'))
  }
  const checkAgain = () => {
    check().catch(error => {
      // The apply notices a database that is away when it next writes.
      if (!(error instanceof DatabaseUnavailable)) interrupt.abort(error)
    })
  }
  const unsubscribe = wakeups.subscribe(topics.control(claim.organizationId, claim.sessionId), checkAgain)
  const polling = setInterval(checkAgain, limits.pulseMs)
  checkAgain()
  const expire = () => interrupt.abort(new ApplyFailed('apply_failed'))
  const expiry = setTimeout(expire, Math.min(Math.max(0, leftMs), LONGEST_TIMER_MS))
  return {
    signal: AbortSignal.any([outer, interrupt.signal]),
    [Symbol.dispose]() {
      clearInterval(polling)
      clearTimeout(expiry)
      unsubscribe()
    },
  }
}
