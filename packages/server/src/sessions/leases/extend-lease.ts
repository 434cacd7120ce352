import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { touchLease } from './lease-sql.ts'

/** Restarts the idle time of the Session's lease, if it has one. The caller holds the Session's lock. */
export async function extendLease(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  await touchLease(tx, key, now)
}
