import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { followPreviews } from '@berth/core/sessions/previews/follow-previews.ts'
import { followOrganization } from '@berth/core/sessions/streams/change-feed.ts'
import { Moves } from '@berth/core/sessions/streams/change-feed-moves.ts'
import type { EventStreams } from '@berth/core/sessions/streams/event-streams.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { toSessionState } from '../sessions/session-state.ts'
import { readSessionStates } from '../sessions/session-state-sql.ts'
import { merged } from './merged.ts'

interface Viewer {
  readonly organizationId: string
  readonly personId: string
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The subjects that a tab follows: Sessions from a sequence on, and the changes of all that its person sees. */
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
    if (feed) sources.push(feedOf(context, { organizationId, personId }, until))
    try {
      yield* merged(sources, () => stop.abort())
    } finally {
      stop.abort()
    }
  }
}

/** Yields the changes of all Sessions, and the person's marks. */
async function* feedOf(context: Context, viewer: Viewer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const topic = topics.marks(viewer.organizationId, viewer.personId)
  using moves = new Moves(context.wakeups, topic, false)
  // A mark that is lost before this is in the list that the page reads on the reset.
  await context.wakeups.known(topic)
  moves.take()
  const stop = new AbortController()
  const until = AbortSignal.any([signal, stop.signal])
  yield* merged([changes(context, viewer, until), marks(context, viewer, moves, until)], () => stop.abort())
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
  { organizationId, personId }: Viewer,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const open = await followOrganization(context, organizationId)
  yield encoder.encode(framed('{"kind":"reset"}'))
  for await (const notices of open(signal)) {
    const changes = notices.map(({ data }) => data)
    if (changes.some(data => 'reset' in data)) yield encoder.encode(framed('{"kind":"reset"}'))
    const ids = changes.flatMap(data => ('sessionId' in data ? [data.sessionId] : []))
    yield* states(context, { organizationId, personId }, ids)
  }
}

/** Yields the marks that the person sets, in any tab or browser. */
async function* marks(context: Context, viewer: Viewer, moves: Moves, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  while (!signal.aborted) {
    await moves.some(signal)
    if (signal.aborted) return
    const { ids, back } = moves.take()
    if (back) yield encoder.encode(framed('{"kind":"reset"}'))
    else yield* states(context, viewer, ids)
  }
}

async function* states(context: Context, viewer: Viewer, ids: readonly string[]): AsyncGenerator<Uint8Array> {
  const rows = await readSessionStates(context.db, viewer, ids)
  const frames = rows.map(row => framed(JSON.stringify({ kind: 'session', session: toSessionState(row) })))
  if (frames.length > 0) yield encoder.encode(frames.join(''))
}
