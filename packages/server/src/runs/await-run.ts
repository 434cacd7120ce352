import type { SessionKey } from '../events/append.ts'
import type { Queryable } from '../storage/database.ts'
import { offerParked } from './fence-sql.ts'
import { markAwaiting, markResumed } from './run-sql.ts'

/** A running Run waits for people from here on. The caller holds the Session's lock. */
export async function awaitPeople(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await markAwaiting(tx, key, runId, now)
}

/** A Run that waited for people runs again, parked or not. The caller holds the Session's lock and wakes the workers. */
export async function resumeRun(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  await markResumed(tx, key, runId, now)
  await offerParked(tx, key, runId)
}
