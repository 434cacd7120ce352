import { setTimeout as sleep } from 'node:timers/promises'
import type { Booking } from '@berth/core/accounting/booking.ts'
import type { RequestRecord } from '@berth/core/accounting/gateway-request-sql.ts'
import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import { findLostBudget, type PausingBudget, reserveSpending } from '@berth/core/accounting/pausing-budgets.ts'
import { noUsage } from '@berth/core/accounting/upstream.ts'
import type { Context } from '@berth/core/context.ts'
import {
  askForBudget,
  reportBudgets,
  withdrawBudgetQuestion,
} from '@berth/core/sessions/interactions/budget-question.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'

/** The parts that hold Runs to their budgets. */
export type BudgetParts = Pick<Context, 'db' | 'clock' | 'log' | 'wakeups'> & {
  /** The id of this process: its row in `processes` says that its requests are under way. */
  readonly holder: string
}

const FIRST_POLL_MS = 50
const LONGEST_POLL_MS = 1_000

/** Clients of OpenAI's and Anthropic's kind repeat some refusals by themselves; the platform's own agent repeats this one. */
const noRetry = { 'x-should-retry': 'false' }

/**
 * Opens a Run's request, with the most that it may cost reserved in the budgets at which the Run waits for people, and asks
 * people if one of them is reached. While requests under way stand against it, the request waits for those, but not for one
 * whose process is gone: that never ends.
 * @returns the stored row; null if the Run has no such budget, and nothing is stored
 * @throws ApiError 402 `budget_reached`
 */
export async function holdToBudgets(
  parts: BudgetParts & { readonly booking: Pick<Booking, 'keep'> },
  { caller, signal }: ModelRequest,
  opening: RequestRecord,
): Promise<RequestRecord | null> {
  const { run, organizationId } = caller
  if (run?.pauses !== true) return null
  const key = { organizationId, sessionId: run.sessionId, runId: run.runId }
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(LONGEST_POLL_MS, pollMs * 2)) {
    const now = parts.clock.now()
    const record = { ...opening, startedAt: now }
    const { kind, budgets } = await reserveSpending(parts.db, record, now).catch(error => {
      // The answer to the commit may be lost, and the Run's next request would wait for a row that nothing settles. Whichever of
      // the two comes first, no reservation is left.
      const failed = { ...record, outcome: 'failed', errorCode: 'internal_error', usage: noUsage, costUsd: 0 } as const
      if (!(error instanceof ApiError)) void parts.booking.keep(failed)
      throw error
    })
    if (kind === 'granted') {
      // What is reserved is freed with the request alone, so nothing may keep it from being sent; the next one tells again.
      const noted = (reporting: Promise<void>) =>
        reporting.catch(err =>
          parts.log.warn({ err, ...key }, 'a session was not told of its budget; its next request tells'),
        )
      if (budgets.some(({ unreported }) => unreported)) await noted(reportBudgets(parts, key, budgets))
      if (run.awaits) await noted(withdrawBudgetQuestion(parts, key))
      return record
    }
    const verdict = kind === 'reached' ? 'is_reached' : 'is_used_up'
    const ids = budgets.map(({ id }) => id)
    const checksLost = kind === 'taken' && pollMs === LONGEST_POLL_MS
    const lost = checksLost ? await findLostBudget(parts.db, organizationId, ids, parts.holder, now) : null
    const reached = kind === 'reached' ? budgets.find(one => one.is_reached) : lost
    if (reached) {
      // Refused without a question, the Run would fail although it may go on.
      if ((await askForBudget(parts, key, reached.id, verdict)) !== 'needless') throw refuseReached(reached)
    }
    await sleep(pollMs, undefined, { signal }).catch(() => {
      throw signal.reason
    })
  }
}

function refuseReached({ scope, limit_usd }: PausingBudget) {
  const message = `The budget of the ${scope}, $${limit_usd}, is reached. The Run waits until people have decided how it goes on.`
  return refusal('budget_reached', { message }, undefined, noRetry)
}
