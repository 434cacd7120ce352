import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Every bucket is full again after this time, unless an operator has set one that takes longer. */
const REST_MS = 24 * 60 * 60_000
const AT_ONCE = 10_000

/**
 * Removes the buckets that nobody has taken from for a day: a missing bucket counts as full. Otherwise one would stay
 * for each address that ever asked, and for each Run. It skips rows that a guard has locked, because a guard locks two
 * rows and must not wait for this statement.
 *
 * @returns the number of removed buckets
 */
export async function forgetBuckets(db: Queryable, now: Date, signal: AbortSignal): Promise<number> {
  for (let forgotten = 0; ; ) {
    signal.throwIfAborted()
    const { rowCount } = await db.query({
      text: `
        delete from rate_buckets where ctid = any (array(
          select ctid from rate_buckets where refilled_at < $1 limit $2 for update skip locked))`,
      values: [new Date(now.getTime() - REST_MS), AT_ONCE],
    })
    forgotten += rowCount
    if (rowCount < AT_ONCE) return forgotten
  }
}
