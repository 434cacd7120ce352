import type { Metering } from './principal.ts'

/** Size and refill of a token bucket. */
export interface Bucket {
  readonly burst: number
  readonly perMinute: number
}

/** Returns the metering of a response, for a bucket with this much left. */
export function metering(policy: Metering['policy'], bucket: Bucket, remaining: number): Metering {
  return {
    policy,
    remaining: Math.max(0, Math.floor(remaining)),
    burst: bucket.burst,
    perMinute: bucket.perMinute,
    resetSeconds: Math.max(0, Math.ceil(((bucket.burst - remaining) * 60) / bucket.perMinute)),
  }
}

/** Returns the verdict for an empty bucket. */
export function limited(policy: Metering['policy'], bucket: Bucket, remaining: number) {
  return {
    kind: 'limited',
    metering: metering(policy, bucket, remaining),
    retryAfterSeconds: Math.max(1, Math.ceil(((1 - remaining) * 60) / bucket.perMinute)),
  } as const
}
