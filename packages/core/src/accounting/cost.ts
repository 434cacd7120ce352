import type { GatewayUsage, ResolvedModel, StatedPrice, TokenPrice } from './upstream.ts'

/** Returns the whole price of a model. Anthropic charges a quarter more for what it writes to its cache. */
export function wholePrice(
  kind: ResolvedModel['kind'] | undefined,
  price: StatedPrice | undefined,
): TokenPrice | undefined {
  if (price === undefined) return undefined
  return { ...price, cacheWrite: price.cacheWrite ?? price.input * (kind === 'anthropic' ? 1.25 : 1) }
}

/** Returns usage as resources show it, with the share of the input that came from caches. */
export const usageMembers = (usage: GatewayUsage) => ({
  usage,
  ...(usage.inputTokens > 0 && { cacheHitRatio: usage.cachedInputTokens / usage.inputTokens }),
})

/** Returns the cost of a request in US dollars, or null if its price or its tokens are unknown. */
export function costOf(usage: GatewayUsage | null, price: TokenPrice | undefined): number | null {
  if (usage === null || price === undefined) return null
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage
  const fresh = (inputTokens - cachedInputTokens - cacheWriteTokens) * price.input
  const cache = cachedInputTokens * price.cachedInput + cacheWriteTokens * price.cacheWrite
  return (fresh + cache + outputTokens * price.output) / 1e6
}
