import { findMisaligned, rightQueue } from '../../../src/queue/queue-sql.ts'
import type { Queryable } from '../../../src/storage/postgres/database.ts'

/** Makes the queue agree with rows that a test has written to the tables of the work. */
export async function alignedQueue(db: Queryable): Promise<void> {
  const keys = await findMisaligned(db, 100_000)
  await rightQueue(db, 'fenced', keys)
  await rightQueue(db, 'timed', keys)
}
