import type { Environment } from './environment.ts'

/** A token bucket: the size of a burst, and the tokens that it regains per minute. */
export interface RateLimit {
  readonly burst: number
  readonly perMinute: number
}

/**
 * Reads a bucket from `<prefix>_BURST` and `<prefix>_PER_MINUTE`.
 * @param description `limited` names the limited requests ("Requests that … may send"); `note` is a sentence of its own
 */
export function readRateLimit(
  env: Environment,
  prefix: string,
  fallback: RateLimit,
  { limited, note }: { readonly limited: string; readonly note?: string },
): RateLimit {
  const more = note === undefined ? '' : ` ${note}`
  return {
    burst: env.integer(`${prefix}_BURST`, fallback.burst, `${limited} at once.${more}`),
    perMinute: env.integer(`${prefix}_PER_MINUTE`, fallback.perMinute, `${limited} per minute.${more}`),
  }
}
