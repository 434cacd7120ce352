import type { Context } from '../context.ts'
import type { Handlers } from '../http/handler.ts'
import { readSession } from '../sessions/read-session.ts'
import type { SessionKey } from './append.ts'
import { followEvents } from './follow-events.ts'
import { pageEvents } from './page-events.ts'

/** The Event log over HTTP (interface 4.7). */
export function eventHandlers(context: Context): Pick<Handlers, 'listEvents' | 'streamEvents'> {
  return {
    listEvents: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, json: await pageEvents(context, principal, key, query) }
    },
    streamEvents: async ({ principal, params, query, headerParams, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      await readSession(context, principal, key)
      return { events: frames(context, key, headerParams['last-event-id'] ?? query.after, signal) }
    },
  }
}

/** Server-sent events without an `event` field: clients read the type in the envelope. */
async function* frames(context: Context, key: SessionKey, after: number, signal: AbortSignal): AsyncGenerator<string> {
  for await (const page of followEvents(context, key, after, signal)) {
    yield page.map(({ sequence, envelope }) => `id: ${sequence}\ndata: ${envelope}\n\n`).join('')
  }
}
