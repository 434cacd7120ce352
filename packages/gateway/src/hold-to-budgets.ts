import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import { mostCostOf } from '@berth/core/accounting/most-cost.ts'
import { type PausingBudget, reserveSpending } from '@berth/core/accounting/pausing-budgets.ts'
import { noneReserved, type Reserved } from '@berth/core/accounting/request-meter.ts'
import type { ResolvedModel } from '@berth/core/accounting/upstream.ts'
import type { Context } from '@berth/core/context.ts'
import { askForBudget, tellBudgets, withdrawBudgetQuestion } from '@berth/core/sessions/interactions/budget-question.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'

/** The parts that hold Runs to their budgets. */
export type BudgetParts = Pick<Context, 'db' | 'clock' | 'log' | 'wakeups'>

/** Longest wait for requests under way: one that was lost with its gateway never ends. */
const TAKEN_MS = 120_000
const FIRST_LOOK_MS = 50
const LONGEST_LOOK_MS = 1_000

/** Clients of OpenAI's and Anthropic's kind repeat some refusals by themselves; the platform's own agent repeats this one. */
const noRetry = { 'x-should-retry': 'false' }

/**
 * Reserves the most that a Run's request may cost in the budgets at which it waits for people, and asks people if one of
 * them is reached. While only requests under way stand against it, the request waits for those.
 * @throws ApiError 402 `budget_reached` or `cost_unknown`
 */
export async function holdToBudgets(
  parts: BudgetParts,
  request: ModelRequest,
  candidates: readonly ResolvedModel[],
): Promise<Reserved> {
  const { caller, signal } = request
  const { run, organizationId, personId, installationId } = caller
  if (run?.pauses !== true) return noneReserved
  const [first] = candidates
  if (first?.price === undefined) {
    throw refusal('cost_unknown', {
      message: `This Run has a budget, and the price of '${first?.catalogId}' is not configured.`,
    })
  }
  const mostUsd = Math.max(...candidates.map(model => mostCostOf(request, model)))
  const key = { organizationId, sessionId: run.sessionId, runId: run.runId }
  const spender = { ...key, personId, installationId }
  const until = performance.now() + TAKEN_MS
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LONGEST_LOOK_MS, lookMs * 2)) {
    const { kind, budgets } = await reserveSpending(parts.db, spender, mostUsd, parts.clock.now())
    if (kind === 'granted') {
      // What is reserved is freed with the request alone, so nothing may keep it from being sent; the next one tells again.
      const noted = (telling: Promise<void>) =>
        telling.catch(err =>
          parts.log.warn({ err, ...key }, 'a session was not told of its budget; its next request tells'),
        )
      if (budgets.some(({ untold }) => untold)) await noted(tellBudgets(parts, key, budgets))
      if (run.awaits) await noted(withdrawBudgetQuestion(parts, key))
      return budgets.length === 0 ? noneReserved : { reservedUsd: mostUsd, reservedIn: budgets.map(({ id }) => id) }
    }
    const verdict = kind === 'reached' ? 'is_reached' : 'is_used_up'
    const reached = kind === 'reached' || performance.now() > until ? budgets.find(one => one[verdict]) : undefined
    if (reached !== undefined) {
      // Refused without a question, the Run would fail although it may go on.
      if ((await askForBudget(parts, key, reached.id, verdict)) !== 'needless') throw refuseReached(reached)
    }
    await sleep(lookMs, undefined, { signal }).catch(() => {
      throw signal.reason
    })
  }
}

function refuseReached({ scope, limit_usd }: PausingBudget) {
  const message = `The budget of the ${scope}, $${limit_usd}, is reached. The Run waits until people have decided how it goes on.`
  return refusal('budget_reached', { message }, undefined, noRetry)
}
