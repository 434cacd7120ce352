import type { GatewayUsage, ReportedUsage, ResolvedModel, StatedPrice, TokenPrice } from './upstream.ts'

/** Anthropic's price of what stays in its cache for an hour, by that of five minutes: twice the input's by 1.25 times. */
export const HOUR_WRITE = 1.6

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
export function costOf(usage: ReportedUsage | null, price: TokenPrice | undefined): number | null {
  if (usage === null || price === undefined) return null
  const { inputTokens, cachedInputTokens, cacheWriteTokens, hourWriteTokens = 0, outputTokens } = usage
  const fresh = (inputTokens - cachedInputTokens - cacheWriteTokens) * price.input
  const written = cacheWriteTokens + hourWriteTokens * (HOUR_WRITE - 1)
  const cache = cachedInputTokens * price.cachedInput + written * price.cacheWrite
  return (fresh + cache + outputTokens * price.output) / 1e6
}
