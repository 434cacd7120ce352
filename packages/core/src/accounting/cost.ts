import type { GatewayUsage, TokenPrice } from './upstream.ts'

/** Returns the cost of a request in US dollars, or null if its price or its tokens are unknown. */
export function costOf(usage: GatewayUsage | null, price: TokenPrice | undefined): number | null {
  if (usage === null || price === undefined) return null
  const { inputTokens, cachedInputTokens, outputTokens } = usage
  const fresh = (inputTokens - cachedInputTokens) * price.input
  return (fresh + cachedInputTokens * price.cachedInput + outputTokens * price.output) / 1e6
}
