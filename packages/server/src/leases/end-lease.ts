import type { SessionKey } from '../events/append.ts'
import type { Queryable } from '../storage/database.ts'
import { endLeaseOfSession, type LeaseEnd } from './lease-sql.ts'

/** Ends the Session's lease, where it has one. The caller holds the Session's lock. */
export async function endLease(tx: Queryable, key: SessionKey, reason: LeaseEnd, now: Date): Promise<void> {
  await endLeaseOfSession(tx, key, reason, now)
}
