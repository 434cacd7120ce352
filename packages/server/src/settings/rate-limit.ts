import type { Environment } from './environment.ts'

/** A token bucket: requests at once, and how many it regains a minute. */
export interface RateLimit {
  readonly burst: number
  readonly perMinute: number
}

/** Reads a bucket from `<prefix>_BURST` and `<prefix>_PER_MINUTE`. @param scope ends the sentence "Requests at once, …" */
export function readRateLimit(
  env: Environment,
  prefix: string,
  fallback: RateLimit,
  { subject, scope }: { readonly subject: string; readonly scope: string },
): RateLimit {
  return {
    burst: env.integer(`${prefix}_BURST`, fallback.burst, `${subject} at once, ${scope}.`),
    perMinute: env.integer(`${prefix}_PER_MINUTE`, fallback.perMinute, `${subject} a minute, ${scope}.`),
  }
}
