import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { RunRow } from './run.ts'
import { insertRun } from './run-sql.ts'

/** Queues a Run of a Turn under the Session's lock; any worker may claim it once the caller commits. */
export function queueRun(
  tx: Queryable,
  key: SessionKey,
  run: { id: string; turnId: string; runtime: string | null; model: string | null; now: Date },
): Promise<RunRow> {
  return insertRun(tx, key, run)
}
