import type { Queryable } from '../../storage/postgres/database.ts'

/** By then every bucket is full again, unless an operator has set one that takes longer. */
const REST_MS = 24 * 60 * 60_000
const AT_ONCE = 10_000

/**
 * Forgets the buckets that nobody has taken from for a day: one that is not there is full. There is one for each address
 * that ever asked, and for each Run. Rows that a guard holds are passed over: it locks two, and nobody waits for it here.
 * @returns how many there were
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
