import type { SessionPage } from '@berth/contract'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { type SessionRow, toListedSession } from './session.ts'
import { findSession, listSessions as listRows, lockSession, type SessionFilter } from './session-sql.ts'

/**
 * Reads a Session that the caller sees.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function readSession(context: Context, principal: Principal, key: SessionKey): Promise<SessionRow> {
  return requireSeen(principal, await findSession(context.db, key))
}

/**
 * Returns a page of the Sessions that the caller sees, the last changed first. A Session that changes while a client
 * reads pages moves to the front; a client that starts again finds it.
 * @throws ApiError 400 `invalid_request` if no page gave the cursor
 */
export async function pageSessions(
  context: Context,
  principal: Principal,
  query: {
    limit: number
    cursor: string | undefined
    archived: SessionFilter['archived']
    origin: SessionFilter['origin']
  },
): Promise<SessionPage> {
  const rows = await listRows(context.db, {
    organizationId: principal.organizationId,
    ownerId: principal.kind === 'person' ? null : principal.id,
    archived: query.archived,
    origin: query.origin,
    before: query.cursor === undefined ? null : decodeCursor('sessions', query.cursor),
    limit: query.limit + 1,
  })
  const { page, ...more } = pageOf('sessions', rows, query.limit, row => row.updated_at)
  return { sessions: page.map(row => toListedSession(row, context)), ...more }
}

/**
 * Locks a Session that the caller sees, for a command that decides under the lock.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function lockVisibleSession(tx: Queryable, principal: Principal, key: SessionKey): Promise<SessionRow> {
  return requireSeen(principal, await lockSession(tx, key))
}

/** The columns that tell who owns a Session. */
type Owned = Pick<SessionRow, 'organization_id' | 'owner_id' | 'is_trial'>

/** Returns true if a Session belongs to the caller: to the installation itself, or to the organization of the person. */
export function belongsTo(principal: Principal, row: Omit<Owned, 'is_trial'>): boolean {
  return (
    row.organization_id === principal.organizationId && (principal.kind === 'person' || row.owner_id === principal.id)
  )
}

/**
 * Returns true if the caller sees the Session: installations see those they own, people all of their organization's.
 * Nobody sees the Session of a trial: only `core/sessions/trials` shows what happens in it.
 */
export function sees(principal: Principal, row: Owned): boolean {
  return !row.is_trial && belongsTo(principal, row)
}

/**
 * Returns the row if the caller sees it.
 * @throws ApiError 404 `cloud_session_not_found` if it is missing or hidden from the caller, without telling which
 */
export function requireSeen<Row extends Owned>(principal: Principal, row: Row | null): Row {
  if (row === null || !sees(principal, row)) throw sessionNotFound()
  return row
}
