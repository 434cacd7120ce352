import type { SessionStatePage, SessionStatus } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { toListedSession } from '@berth/core/sessions/session/session.ts'
import { findSessions } from '@berth/core/sessions/session/session-sql.ts'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import { countSessions, type ListFilter, listSessionIds } from './list-sql.ts'
import { toSessionState } from './session-state.ts'
import { readSessionStates } from './session-state-sql.ts'

/** The name of the list in its cursors. */
const LIST = 'session-states'

/** The query of the list, as the contract has it. */
export interface ListQuery {
  readonly limit: number
  readonly cursor?: string
  readonly archived?: 'true' | 'only'
  readonly q?: string
  readonly state?: SessionStatus | 'rest'
  readonly mine?: '1'
  readonly pinned?: '0' | '1'
  readonly snoozed?: '0' | '1'
  readonly repository?: string
  readonly pull?: '1'
  readonly counted?: '1'
}

/**
 * Returns a page of an organization's Sessions with their state for a person, the last changed first.
 * @throws ApiError 400 `invalid_request` if no page gave the cursor
 */
export async function listSessionStates(
  context: Context,
  { organizationId, id: personId }: PersonPrincipal,
  { limit, cursor, archived, q, state, mine, pinned, snoozed, repository, pull, counted }: ListQuery,
): Promise<SessionStatePage> {
  const { db } = context
  const [kind = '', repositoryId = ''] = repository?.split(':') ?? []
  const filter: ListFilter = {
    organizationId,
    personId,
    archived: archived === undefined ? 'no' : archived === 'true' ? 'both' : 'only',
    q,
    status: state,
    mine: mine !== undefined,
    pinned: pinned === undefined ? undefined : pinned === '1',
    snoozed: snoozed === undefined ? undefined : snoozed === '1',
    repository: repository === undefined ? undefined : { kind, id: repositoryId },
    withPull: pull !== undefined,
    before: cursor === undefined ? null : decodeCursor(LIST, cursor),
  }
  const rows = await listSessionIds(db, filter, limit + 1)
  const { page, ...more } = pageOf(LIST, rows, limit, row => row.updated_at)
  const ids = page.map(({ id }) => id)
  const last = page.at(-1)
  const before = last && { updatedAt: last.updated_at, id: last.id }
  const [found, stateRows, remaining] = await Promise.all([
    findSessions(db, organizationId, ids),
    readSessionStates(db, { organizationId, personId }, ids),
    before !== undefined && more.hasMore && counted !== undefined ? countSessions(db, { ...filter, before }) : 0,
  ])
  const sessionById = new Map(found.map(row => [row.id, row]))
  const stateById = new Map(stateRows.map(row => [row.id, row]))
  const sessions = ids.flatMap(id => {
    const [session, state] = [sessionById.get(id), stateById.get(id)]
    if (session === undefined || state === undefined) return []
    return [{ session: toListedSession(session, context), state: toSessionState(state) }]
  })
  return { sessions, ...more, ...(counted !== undefined && { remaining }) }
}
