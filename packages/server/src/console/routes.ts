import type { SessionState } from '@berth/contract'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { PersonPrincipal, Principal } from '../identity/guard/principal.ts'
import type { SessionKey } from '../kit/session-key.ts'
import { pageSessions, readSession } from '../sessions/session/read-session.ts'
import { holdPlace, type Streaming } from '../sessions/streams/routes.ts'
import { withLife } from '../sessions/streams/stream-life.ts'
import { followLive } from './live/follow-live.ts'
import { markPinned, markRead } from './sessions/mark-sql.ts'
import { readOverview } from './sessions/overview.ts'
import { toSessionState } from './sessions/session-state.ts'
import { readSessionStates } from './sessions/session-state-sql.ts'

type Operations = 'getSessionOverview' | 'followLive' | 'listSessionStates' | 'markSessionRead' | 'pinSession'

/** Serves what the console's page shows of Sessions beside the Sessions themselves. */
export function consoleHandlers(context: Context, { streams, budget, life }: Streaming): Pick<Handlers, Operations> {
  const { db, clock } = context

  const stateOf = async (person: PersonPrincipal, key: SessionKey): Promise<SessionState> => {
    const [row] = await readSessionStates(db, { ...key, personId: person.id }, [key.sessionId])
    if (row === undefined) throw new Error('a session went away')
    return toSessionState(row)
  }

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

    listSessionStates: async ({ principal, query: { limit, cursor, archived, q, mine } }) => {
      const person = personOf(principal)
      const { sessions, ...more } = await pageSessions(context, person, {
        limit,
        cursor,
        archived: archived === undefined ? 'no' : archived === 'true' ? 'both' : 'only',
        origin: { objectType: undefined, objectId: undefined, tenantKey: undefined },
        title: q === '' ? undefined : q,
        createdBy: mine === undefined ? undefined : person.id,
      })
      const of = { organizationId: person.organizationId, personId: person.id }
      const rows = await readSessionStates(
        db,
        of,
        sessions.map(({ id }) => id),
      )
      const states = new Map(rows.map(row => [row.id, toSessionState(row)]))
      const shown = sessions.flatMap(session => {
        const state = states.get(session.id)
        return state === undefined ? [] : [{ session, state }]
      })
      return { status: 200, body: { sessions: shown, ...more } }
    },

    getSessionOverview: async ({ principal, params: { sessionId } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 200, json: await readOverview(context, person, key, () => stateOf(person, key)) }
    },

    markSessionRead: async ({ principal, params: { sessionId }, body: { sequence } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      await markRead(db, key, person.id, sequence)
      return { status: 200, body: { state: await stateOf(person, key) } }
    },

    pinSession: async ({ principal, params: { sessionId }, body: { pinned } }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      await readSession(context, person, key)
      await markPinned(db, key, person.id, pinned ? clock.now() : null)
      return { status: 200, body: { state: await stateOf(person, key) } }
    },
  }
}

/** The contract lets people alone in. */
function personOf(principal: Principal): PersonPrincipal {
  if (principal.kind !== 'person') throw new Error('an operation of people was reached by an installation')
  return principal
}
