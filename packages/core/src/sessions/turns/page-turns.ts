import type { TurnPage } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { readSession } from '../session/read-session.ts'
import { toTurn } from './turn.ts'
import { listTurnsAfter } from './turn-sql.ts'

/**
 * Returns a page of a Session's Turns in order.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function pageTurns(
  context: Context,
  principal: Principal,
  key: SessionKey,
  query: { after: number; limit: number },
): Promise<TurnPage> {
  await readSession(context, principal, key)
  const rows = await listTurnsAfter(context.db, key, query.after, query.limit + 1)
  const page = rows.slice(0, query.limit)
  return {
    turns: page.map(toTurn),
    nextAfter: page.at(-1)?.sequence ?? query.after,
    hasMore: rows.length > query.limit,
  }
}
