import type { SessionStatePage, SessionStatus } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { toSession } from '@berth/core/sessions/session/session.ts'
import { findSessions } from '@berth/core/sessions/session/session-sql.ts'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import { listSessionIds } from './list-sql.ts'
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
  readonly pinned?: '1'
  readonly repository?: string
  readonly pull?: '1'
}

/**
 * Returns a page of an organization's Sessions with what a person has to know of them, the last changed first.
 * @throws ApiError 400 `invalid_request` if no page gave the cursor
 */
export async function listSessionStates(
  context: Context,
  { organizationId, id: personId }: PersonPrincipal,
  { limit, cursor, archived, q, state, mine, pinned, repository, pull }: ListQuery,
): Promise<SessionStatePage> {
  const { db } = context
  const [kind = '', repositoryId = ''] = repository?.split(':') ?? []
  const rows = await listSessionIds(db, {
    organizationId,
    personId,
    archived: archived === undefined ? 'no' : archived === 'true' ? 'both' : 'only',
    q,
    status: state,
    mine: mine !== undefined,
    pinned: pinned !== undefined,
    repository: repository === undefined ? undefined : { kind, id: repositoryId },
    withPull: pull !== undefined,
    before: cursor === undefined ? null : decodeCursor(LIST, cursor),
    limit: limit + 1,
  })
  const { page, ...more } = pageOf(LIST, rows, limit, row => row.updated_at)
  const ids = page.map(({ id }) => id)
  const [found, stateRows] = await Promise.all([
    findSessions(db, organizationId, ids),
    readSessionStates(db, { organizationId, personId }, ids),
  ])
  const sessionById = new Map(found.map(row => [row.id, row]))
  const stateById = new Map(stateRows.map(row => [row.id, row]))
  const sessions = ids.flatMap(id => {
    const [session, state] = [sessionById.get(id), stateById.get(id)]
    if (session === undefined || state === undefined) return []
    return [{ session: toSession(session, context), state: toSessionState(state) }]
  })
  return { sessions, ...more }
}
