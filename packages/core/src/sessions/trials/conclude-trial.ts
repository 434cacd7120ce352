import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { closeSession } from '../close-session.ts'
import { finishTrial, type TrialOutcome } from './trial-sql.ts'

/**
 * Ends a trial and closes its Session, so its sandbox goes. The first end counts. No Turn reaches the Session of a trial,
 * so it has no Run to cancel. The caller holds the Session's lock.
 * @returns false if it has ended already
 */
export async function concludeTrial(
  tx: Queryable,
  key: SessionKey,
  outcome: TrialOutcome,
  now: Date,
): Promise<boolean> {
  if (!(await finishTrial(tx, key, outcome, now))) return false
  await closeSession(tx, key, null, now)
  return true
}
