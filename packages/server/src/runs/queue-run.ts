import { randomUUID } from 'node:crypto'
import type { SessionKey } from '../events/append.ts'
import type { Queryable } from '../storage/database.ts'
import { insertRun } from './run-sql.ts'

/** Queues a Run of a Turn; any worker may claim it once the caller, who holds the Session's lock, commits. */
export async function queueRun(
  tx: Queryable,
  key: SessionKey,
  run: { turnId: string; runtime: string | null; model: string | null; now: Date },
): Promise<string> {
  const id = randomUUID()
  await insertRun(tx, key, { id, ...run })
  return id
}
