import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
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
    retryAfterSeconds: retryAfterSeconds(bucket, remaining),
  } as const
}

/** Returns the seconds until an empty bucket holds a token again; at least one. */
export const retryAfterSeconds = ({ perMinute }: Bucket, remaining: number): number =>
  Math.max(1, Math.ceil(((1 - remaining) * 60) / perMinute))

/** Takes a token from the bucket of this name. */
export async function takeToken(
  db: Queryable,
  name: string,
  { burst, perMinute }: Bucket,
  now: Date,
): Promise<{ readonly granted: boolean; readonly remaining: number }> {
  const { rows } = await db.query<{ granted: boolean; remaining: number }>({
    name: 'take-token',
    text: 'select granted, remaining from take_token($1, $2, $3, $4)',
    values: [name, burst, perMinute, now],
  })
  return rows[0] ?? { granted: false, remaining: 0 }
}

/** Gives a token back to a bucket, never beyond its size. */
export async function giveTokenBack(db: Queryable, name: string, { burst }: Bucket): Promise<void> {
  await db.query({
    name: 'give-token-back',
    text: 'update rate_buckets set tokens = least($2::double precision, tokens + 1) where key = $1',
    values: [name, burst],
  })
}
