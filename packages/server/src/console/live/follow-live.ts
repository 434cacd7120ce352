import type { Context } from '../../context.ts'
import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import { followPreviews } from '../../sessions/previews/follow-previews.ts'
import { followOrganization } from '../../sessions/streams/change-feed.ts'
import type { EventStreams } from '../../sessions/streams/event-streams.ts'
import { toSessionState } from '../sessions/session-state.ts'
import { readSessionStates } from '../sessions/session-state-sql.ts'
import { merged } from './merged.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** What a tab follows: Sessions from a sequence on, and the changes of all that its person sees. */
export interface Followed {
  readonly feed: boolean
  readonly sessions: readonly { readonly sessionId: string; readonly after: number }[]
}

/**
 * Follows everything that one tab shows in one stream: browsers open six connections to an origin at most. The feed
 * begins with a reset, on which the page reads its list; whatever changes after that is told.
 */
export function followLive(
  context: Context,
  streams: EventStreams,
  { organizationId, id: personId }: PersonPrincipal,
  { feed, sessions }: Followed,
): (signal: AbortSignal) => AsyncGenerator<Uint8Array> {
  return async function* follow(signal) {
    const stop = new AbortController()
    const until = AbortSignal.any([signal, stop.signal])
    const sources = sessions.flatMap(({ sessionId, after }) => {
      const key = { organizationId, sessionId }
      return [
        events(streams.follow(key, after, until), sessionId),
        previews(followPreviews(context, key, until), sessionId),
      ]
    })
    if (feed) sources.push(changes(context, { organizationId, personId }, until))
    try {
      yield* merged(sources, () => stop.abort())
    } finally {
      stop.abort()
    }
  }
}

const framed = (data: string, id = ''): string => `${id}data: ${data}\n\n`

/** Wraps the frames of an Event stream; the stored envelope goes out byte for byte. */
async function* events(chunks: AsyncGenerator<Uint8Array>, sessionId: string): AsyncGenerator<Uint8Array> {
  const head = `{"kind":"event","sessionId":"${sessionId}","event":`
  for await (const chunk of chunks) {
    const frames = decoder.decode(chunk).split('\n\n').slice(0, -1)
    const wrapped = frames.map(frame => {
      const line = frame.indexOf('\n')
      return framed(`${head}${frame.slice(line + '\ndata: '.length)}}`, frame.slice(0, line + 1))
    })
    yield encoder.encode(wrapped.join(''))
  }
}

async function* previews(states: AsyncGenerator<string | null>, sessionId: string): AsyncGenerator<Uint8Array> {
  for await (const preview of states) {
    yield encoder.encode(framed(`{"kind":"preview","sessionId":"${sessionId}","preview":${preview}}`))
  }
}

async function* changes(
  context: Context,
  { organizationId, personId }: { readonly organizationId: string; readonly personId: string },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const open = await followOrganization(context, organizationId)
  yield encoder.encode(framed('{"kind":"reset"}'))
  for await (const notices of open(signal)) {
    const told = notices.map(({ data }) => data)
    if (told.some(data => 'reset' in data)) yield encoder.encode(framed('{"kind":"reset"}'))
    const ids = told.flatMap(data => ('sessionId' in data ? [data.sessionId] : []))
    const states = await readSessionStates(context.db, { organizationId, personId }, ids)
    const frames = states.map(row => framed(JSON.stringify({ kind: 'session', session: toSessionState(row) })))
    if (frames.length > 0) yield encoder.encode(frames.join(''))
  }
}
