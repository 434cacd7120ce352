import type { Environment } from './environment.ts'

/** A token bucket: the size of a burst, and the tokens that it regains per minute. */
export interface RateLimit {
  readonly burst: number
  readonly perMinute: number
}

/**
 * Reads a bucket from `<prefix>_PER_MINUTE`.
 * @param burstSeconds how many seconds of the rate may be used at once
 */
export function readRateLimit(
  env: Environment,
  prefix: string,
  { perMinute: fallback, burstSeconds }: { readonly perMinute: number; readonly burstSeconds: number },
  meaning: string,
): RateLimit {
  const perMinute = env.integer(`${prefix}_PER_MINUTE`, fallback, meaning)
  return { burst: Math.max(1, Math.round((perMinute * burstSeconds) / 60)), perMinute }
}
