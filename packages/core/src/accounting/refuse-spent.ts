import { refusal } from '@berth/platform/kit/refusal.ts'
import type { GatewayCaller } from '../identity/guard/gateway-caller.ts'
import type { ResolvedModel } from './upstream.ts'

/** OpenAI's clients retry a 429 by themselves, but a spent budget will not recover within a retry. */
const noRetry = { 'x-should-retry': 'false' }

/** Returns whether the cost of a caller's requests has to be known: beside a budget, no cost counts as nothing. */
export const needsPrice = ({ hasBudget, run }: Pick<GatewayCaller, 'hasBudget' | 'run'>): boolean =>
  hasBudget || (run !== null && run.budgetUsd !== null)

/**
 * Refuses a caller that has spent its budget. Concurrent requests do not see each other's cost, so spending may exceed
 * a budget by at most the cost of the requests in flight.
 * @throws ApiError 429 `insufficient_quota`, 402 `cost_budget_exceeded`, 402 `cost_unknown`
 */
export function refuseSpent(caller: GatewayCaller, model: ResolvedModel, now: Date): void {
  const { quotaEndsAtMs, run } = caller
  if (quotaEndsAtMs !== null) {
    const never = !Number.isFinite(quotaEndsAtMs)
    const seconds = never ? undefined : Math.max(1, Math.ceil((quotaEndsAtMs - now.getTime()) / 1000))
    const resetsAt = never ? null : new Date(quotaEndsAtMs).toISOString()
    const when = resetsAt === null ? 'It does not reset by itself.' : `It resets at ${resetsAt}.`
    throw refusal(
      'insufficient_quota',
      { message: `A budget of this key or its organization is spent. ${when}`, resetsAt },
      seconds,
      noRetry,
    )
  }
  if (model.price === undefined && needsPrice(caller)) {
    throw refusal('cost_unknown', {
      message: `A budget counts this request, and '${model.catalogId}' has no price: an operator sets \`price\` of the model in the configuration file, of zeros if it costs nothing.`,
    })
  }
  if (run !== null && run.budgetUsd !== null && run.spentUsd >= run.budgetUsd) {
    throw refusal('cost_budget_exceeded', { message: `This Run has spent its budget of $${run.budgetUsd}.` })
  }
}
