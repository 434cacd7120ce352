import type { Metering } from '../../identity/guard/principal.ts'

const windowSeconds = 60

/** State of the caller's bucket as every metered response carries it (interface 8.1). */
export function rateLimitHeaders(metering: Metering): Readonly<Record<string, string>> {
  const { policy, perMinute, burst, remaining, resetSeconds } = metering
  return {
    'ratelimit-policy': `"${policy}";q=${perMinute};w=${windowSeconds};svc-burst=${burst}`,
    ratelimit: `"${policy}";r=${Math.max(0, Math.floor(remaining))};t=${Math.max(0, Math.ceil(resetSeconds))}`,
  }
}
