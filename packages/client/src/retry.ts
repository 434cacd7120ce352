import { BerthConnectionError, BerthError } from './error.ts'

/** How often, and after which delays, one call is retried. */
export interface RetryPolicy {
  /** Attempts in all, including the first. */
  readonly attempts: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  /** If `Retry-After` is longer than this, the call fails instead of waiting. */
  readonly maxRetryAfterMs: number
}

export const defaultRetryPolicy: RetryPolicy = {
  attempts: 5,
  baseDelayMs: 250,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
}

/** Statuses that may pass, because they say nothing about the request itself. */
const momentary = new Set([429, 502, 503, 504])

/** Exponential delay whose upper half is random, so that clients cut off together do not return together. */
export function backoffMs(
  failures: number,
  bounds: { baseDelayMs: number; maxDelayMs: number },
  random: number,
): number {
  const ceiling = Math.min(bounds.maxDelayMs, bounds.baseDelayMs * 2 ** Math.min(failures, 30))
  return ceiling * (0.5 + random / 2)
}

/**
 * Returns the delay before a retry of a failed call, in ms; null if the call must not be retried. The operation is
 * idempotent, for example because it carries an id chosen by the caller, so a lost response may be asked for again.
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
