import type { Metering } from '../../identity/guard/principal.ts'

const windowSeconds = 60

/** Returns the rate limit headers that every metered response carries. */
export function rateLimitHeaders(metering: Metering): Readonly<Record<string, string>> {
  const { policy, perMinute, burst, remaining, resetSeconds } = metering
  return {
    'ratelimit-policy': `"${policy}";q=${perMinute};w=${windowSeconds};svc-burst=${burst}`,
    ratelimit: `"${policy}";r=${Math.max(0, Math.floor(remaining))};t=${Math.max(0, Math.ceil(resetSeconds))}`,
  }
}
