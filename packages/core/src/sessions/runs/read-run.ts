import type { Fence, Run } from '@berth/contract'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { readFence } from './fence-sql.ts'
import { toRun } from './run.ts'
import { findRun } from './run-sql.ts'

/**
 * Returns the durable state of a Run.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readRun(context: Context, principal: Principal, key: SessionKey, runId: string): Promise<Run> {
  await readSession(context, principal, key)
  const row = await findRun(context.db, key, runId)
  if (row === null) throw sessionNotFound()
  return toRun(row)
}

/** Returns the Run that a Turn names; every Turn has one. */
export async function runOfTurn(db: Queryable, key: SessionKey, runId: string): Promise<Run> {
  const row = await findRun(db, key, runId)
  if (row === null) throw new Error(`there is no run ${runId}`)
  return toRun(row)
}

/**
 * Returns the fence of the worker that executes the Session, or null while nothing executes.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readSessionFence(context: Context, principal: Principal, key: SessionKey): Promise<Fence | null> {
  await readSession(context, principal, key)
  return readFence(context.db, key)
}
