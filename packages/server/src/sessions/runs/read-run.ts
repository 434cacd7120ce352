import type { Fence, Run } from '@berth/contract'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { sessionNotFound } from '../../kit/refusal.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { readSession } from '../session/read-session.ts'
import { readFence } from './fence-sql.ts'
import { toRun } from './run.ts'
import { findRun } from './run-sql.ts'

/** Durable state of a Run (interface 4.5). @throws ApiError 404 `cloud_session_not_found` */
export async function readRun(context: Context, principal: Principal, key: SessionKey, runId: string): Promise<Run> {
  await readSession(context, principal, key)
  const row = await findRun(context.db, key, runId)
  if (row === null) throw sessionNotFound()
  return toRun(row)
}

/** The Run that a Turn names, which is there because no Turn is without one. */
export async function runOfTurn(db: Queryable, key: SessionKey, runId: string): Promise<Run> {
  const row = await findRun(db, key, runId)
  if (row === null) throw new Error(`there is no run ${runId}`)
  return toRun(row)
}

/** Which worker holds the Session's execution (completions, Session). @throws ApiError 404 */
export async function readSessionFence(context: Context, principal: Principal, key: SessionKey): Promise<Fence | null> {
  await readSession(context, principal, key)
  return readFence(context.db, key)
}
