import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { followPreviews } from '../previews/follow-previews.ts'
import { readSession } from '../session/read-session.ts'
import { followSessions } from './change-feed.ts'
import { digestEvents } from './digest-events.ts'
import type { EventStreams } from './event-streams.ts'
import { PageCache } from './page-cache.ts'
import { pageEvents } from './page-events.ts'
import type { StreamBudget } from './stream-budget.ts'
import { type StreamLife, type StreamRequest, withLife } from './stream-life.ts'

/** The parts that all streams of a process share. */
export interface Streaming {
  readonly streams: EventStreams
  readonly budget: StreamBudget
  readonly life: StreamLife
}

/** Serves the Event log and the change feed over HTTP. */
export function eventHandlers(
  context: Context,
  { streams, budget, life }: Streaming,
): Pick<Handlers, 'listEvents' | 'digestEvents' | 'streamEvents' | 'streamSessions' | 'streamPreviews'> {
  const pages = new PageCache()
  return {
    listEvents: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, json: await pageEvents(context, pages, principal, key, query) }
    },
    digestEvents: async ({ principal, params, query }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: await digestEvents(context, principal, key, query.at) }
    },
    streamEvents: async request => {
      const { principal, params, query, headerParams } = request
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      await readSession(context, principal, key)
      const after = headerParams['last-event-id'] ?? query.after
      await holdPlace(budget, request)
      return { events: withLife(signal => streams.follow(key, after, signal), request, life, context.clock) }
    },
    streamPreviews: async request => {
      const { principal, params } = request
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      await readSession(context, principal, key)
      await holdPlace(budget, request)
      return { events: withLife(signal => previewFrames(context, key, signal), request, life, context.clock) }
    },
    streamSessions: async request => {
      const { principal, headerParams } = request
      const cursor = headerParams['last-event-id']
      await holdPlace(budget, request)
      const open = await followSessions(context, principal, cursor === undefined ? undefined : BigInt(cursor))
      return { events: withLife(open, request, life, context.clock) }
    },
  }
}

/** Holds a place in the budget while the response lives: its signal aborts however it ends, and may have by now. */
export async function holdPlace(
  budget: StreamBudget,
  { principal, signal }: Pick<StreamRequest, 'principal' | 'signal'>,
): Promise<void> {
  const place = await budget.take(principal)
  const giveBack = () => place[Symbol.dispose]()
  if (signal.aborted) giveBack()
  else signal.addEventListener('abort', giveBack, { once: true })
}

const encoder = new TextEncoder()

/** Previews have no id: a reader that comes back has missed nothing that counts. */
async function* previewFrames(context: Context, key: SessionKey, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const preview of followPreviews(context, key, signal)) {
    yield encoder.encode(`data: ${preview ?? '{"activities":[]}'}\n\n`)
  }
}
