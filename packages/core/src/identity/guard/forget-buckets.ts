import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/** Every bucket is full again after this time, unless an operator has set one that takes longer. */
const REST_MS = 24 * 60 * 60_000

/**
 * Removes the buckets that nobody has taken from for a day: a missing bucket counts as full. Otherwise one would stay
 * for each address that ever asked, and for each Run. It skips rows that a guard has locked, because a guard locks two
 * rows and must not wait for this statement.
 *
 * @returns the number of removed buckets
 */
export const forgetBuckets = (db: Queryable, now: Date, signal: AbortSignal): Promise<number> =>
  deleteInBatches(
    db,
    { table: 'rate_buckets', where: 'r.refilled_at < $1', values: [new Date(now.getTime() - REST_MS)] },
    signal,
  )
