import { findMisaligned, rightQueue } from '../../../src/queue/queue-sql.ts'
import type { Queryable } from '../../../src/storage/postgres/database.ts'

/** Makes the queue agree with rows that a test has written to the tables of the work. */
export async function alignedQueue(db: Queryable): Promise<void> {
  // Nobody has counted rows that a test has just written by the thousand, and a plan for few rows takes minutes on many.
  await db.query('analyze queue, sessions, runs, executions, leases')
  const keys = await findMisaligned(db, 100_000)
  await rightQueue(db, 'fenced', keys)
  await rightQueue(db, 'timed', keys)
}
