import type { SessionPage } from '@berth/contract'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { decodeCursor, pageOf } from '../../kit/list-cursor.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import { type SessionRow, toSession } from './session.ts'
import { findSession, listSessions as listRows, type SessionFilter } from './session-sql.ts'
import { requireSeen } from './visibility.ts'

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
  return { sessions: page.map(row => toSession(row, context)), ...more }
}
