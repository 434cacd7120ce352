import type { SessionState } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { holdPlace, type Streaming } from '@berth/core/sessions/streams/routes.ts'
import { withLife } from '@berth/core/sessions/streams/stream-life.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { followLive } from './live/follow-live.ts'
import { readNextTurn, withdrawNextTurn, writeNextTurn } from './next-turns/write-next-turn.ts'
import { personOf } from './person-of.ts'
import { searchSession } from './search/search-session.ts'
import { listSessionStates } from './sessions/list-sessions.ts'
import { markRead, markSession } from './sessions/mark-sql.ts'
import { readOverview } from './sessions/overview.ts'
import { toSessionState } from './sessions/session-state.ts'
import { readSessionStates } from './sessions/session-state-sql.ts'

type Operations =
  | 'followLive'
  | 'getNextTurn'
  | 'getSessionOverview'
  | 'listSessionStates'
  | 'markSession'
  | 'markSessionRead'
  | 'putNextTurn'
  | 'searchSession'
  | 'withdrawNextTurn'

/** Serves the facts that the console's page shows beside the Sessions themselves. */
export function consoleHandlers(context: Context, { streams, budget, life }: Streaming): Pick<Handlers, Operations> {
  const { db, clock } = context

  const stateOf = async (person: PersonPrincipal, key: SessionKey): Promise<SessionState> => {
    const [row] = await readSessionStates(db, { ...key, personId: person.id }, [key.sessionId])
    if (row === undefined) throw new Error('a session went away')
    return toSessionState(row)
  }

  /** The person's other tabs and browsers show the mark, too. */
  const notifyMark = (person: PersonPrincipal, { organizationId, sessionId }: SessionKey) =>
    context.wakeups.publish(topics.mark(organizationId, person.id, sessionId))

  return {
    followLive: async request => {
      const person = personOf(request.principal)
      const named = (request.query.session ?? []).map(text => {
        const [id = '', after] = text.split(':')
        return { sessionId: id.toLowerCase(), after: Number(after) }
      })
      // A Session that is named twice is followed from the last place.
      const sessions = [...new Map(named.map(followed => [followed.sessionId, followed])).values()]
      for (const { sessionId } of sessions) {
        await readSession(context, person, { organizationId: person.organizationId, sessionId })
      }
      await holdPlace(budget, request)
      const open = followLive(context, streams, person, { feed: request.query.feed !== undefined, sessions })
      return { events: withLife(open, request, life, clock) }
    },

    listSessionStates: async ({ principal, query }) => ({
      status: 200,
      body: await listSessionStates(context, personOf(principal), query),
    }),

    getSessionOverview: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, json: await readOverview(context, person, key, () => stateOf(person, key)) }
    },

    markSessionRead: async ({ principal, params: { sessionId }, body: { sequence } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      if (await markRead(db, key, person.id, sequence)) notifyMark(person, key)
      return { status: 200, body: { state: await stateOf(person, key) } }
    },

    searchSession: async ({ principal, params: { sessionId }, query }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, body: await searchSession(context, person, key, query) }
    },

    getNextTurn: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, body: { nextTurn: await readNextTurn(context, person, key) } }
    },

    putNextTurn: async ({ principal, params: { sessionId }, body }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, body: { nextTurn: await writeNextTurn(context, person, key, body) } }
    },

    withdrawNextTurn: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, body: { nextTurn: await withdrawNextTurn(context, person, key) } }
    },

    markSession: async ({ principal, params: { sessionId }, body: { pinned, snoozed } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      const at = clock.now()
      await markSession(db, key, person.id, {
        ...(pinned !== undefined && { pinnedAt: pinned ? at : null }),
        ...(snoozed !== undefined && {
          snoozed: snoozed && { at, until: snoozed.until === undefined ? null : new Date(snoozed.until) },
        }),
      })
      notifyMark(person, key)
      return { status: 200, body: { state: await stateOf(person, key) } }
    },
  }
}
