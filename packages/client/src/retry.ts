import { BerthConnectionError, BerthError } from './error.ts'

/** How often and how patiently one call is tried again. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly attempts: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** A longer `Retry-After` than this is handed to the caller instead of being waited for. */
  readonly maxRetryAfterMs: number
}

export const defaultRetryPolicy: RetryPolicy = {
  attempts: 5,
  baseDelayMs: 250,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
}

/** Statuses that say nothing about the request itself, only about the moment. */
const momentary = new Set([429, 502, 503, 504])

/** Exponential delay with the upper half jittered, so that clients cut off together do not come back together. */
export function backoffMs(
  failures: number,
  bounds: { baseDelayMs: number; maxDelayMs: number },
  random: number,
): number {
  const ceiling = Math.min(bounds.maxDelayMs, bounds.baseDelayMs * 2 ** Math.min(failures, 30))
  return ceiling * (0.5 + random / 2)
}

/**
 * Decides whether a failed call is tried again, and after how long; null means the failure is the caller's.
 * Every operation is idempotent (writes carry ids that the caller minted), so a lost answer may be asked for again.
 */
export function retryDelayMs(failure: unknown, failures: number, policy: RetryPolicy, random: number): number | null {
  if (failures >= policy.attempts) return null
  const backoff = backoffMs(failures - 1, policy, random)
  if (failure instanceof BerthConnectionError) return backoff
  if (!(failure instanceof BerthError) || !momentary.has(failure.status)) return null
  if (failure.retryAfterSeconds === null) return backoff
  const atLeastMs = failure.retryAfterSeconds * 1000
  return atLeastMs > policy.maxRetryAfterMs ? null : atLeastMs + policy.baseDelayMs * random
}
