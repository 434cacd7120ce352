import { expect, test } from 'vitest'
import { type FeedSink, LiveConnection, type LiveRequest, type SessionSink } from './live-connection.ts'

/** A service whose connections a test reads, writes and breaks. */
function scripted(onHeard?: FeedSink) {
  const connections: {
    readonly request: LiveRequest
    readonly signal: AbortSignal
    send(...frames: unknown[]): void
    state(connected: boolean): void
  }[] = []
  const live = new LiveConnection(async function* (request, signal, onState) {
    const waiting: unknown[][] = []
    let wake = () => {}
    connections.push({
      request: request(),
      signal,
      send(...frames) {
        waiting.push(frames)
        wake()
      },
      state: onState,
    })
    onState(true)
    signal.addEventListener('abort', () => wake())
    while (!signal.aborted) {
      const frames = waiting.shift()
      if (frames !== undefined) yield frames
      else await new Promise<void>(resolve => (wake = resolve))
    }
  }, onHeard)
  return { live, connections, open: () => connections.filter(({ signal }) => !signal.aborted) }
}

function sinkOf(received: unknown[], cursor = 0): SessionSink {
  return {
    cursor: () => cursor,
    event: ({ sequence }) => received.push(sequence),
    preview: preview => received.push(preview),
    connected: isConnected => received.push(isConnected),
    failed: error => received.push(error),
  }
}

const turns = async () => {
  for (let at = 0; at < 20; at++) await Promise.resolve()
}

test('a tab has one stream, whatever it follows, and none once it follows nothing', async () => {
  const { live, connections, open } = scripted()
  const received: unknown[] = []
  const stops = [
    live.followSession('a', sinkOf(received, 7)),
    live.followFeed(state => received.push(state?.id ?? 'list')),
  ]
  await turns()
  expect(connections.map(({ request }) => request)).toEqual([{ feed: true, sessions: [{ sessionId: 'a', after: 7 }] }])
  open()[0]?.send({ kind: 'reset' }, { kind: 'session', session: { id: 's' } })
  open()[0]?.send(
    { kind: 'event', sessionId: 'a', event: { sequence: 8 } },
    { kind: 'event', sessionId: 'b', event: {} },
  )
  open()[0]?.send({ kind: 'preview', sessionId: 'a', preview: null }, null, 'noise')
  await turns()
  expect(received).toEqual([true, 'list', 's', 8, null])
  stops.push(live.followSession('b', sinkOf([])))
  await turns()
  expect([connections.length, open().length]).toEqual([2, 1])
  for (const stop of stops) stop()
  await turns()
  expect(open()).toEqual([])
})

test('a tab that rests has no stream, and asks from where it was when it wakes', async () => {
  const { live, open } = scripted()
  let cursor = 3
  live.followSession('a', { ...sinkOf([]), cursor: () => cursor })
  await turns()
  live.rest(true)
  await turns()
  expect(open()).toEqual([])
  cursor = 9
  live.rest(false)
  await turns()
  expect(open().map(({ request }) => request.sessions)).toEqual([[{ sessionId: 'a', after: 9 }]])
})

test('each change is passed on once, however many listen, and never what another tab told', async () => {
  const heard: unknown[] = []
  const received: unknown[] = []
  const { live, open } = scripted(state => heard.push(state?.id ?? 'list'))
  for (const name of ['lists', 'health']) live.followFeed(state => received.push(`${name} ${state?.id ?? 'list'}`))
  await turns()
  open()[0]?.send({ kind: 'reset' }, { kind: 'session', session: { id: 's' } })
  await turns()
  live.hear(null)
  expect(heard).toEqual(['list', 's'])
  expect(received).toEqual(['lists list', 'health list', 'lists s', 'health s', 'lists list', 'health list'])
})

test('a page that only lists is told that the service is away, and that it is back', async () => {
  const { live, connections } = scripted()
  const received: boolean[] = []
  live.watch(() => received.push(live.isAway))
  live.followFeed(() => {})
  await turns()
  connections[0]?.state(false)
  connections[0]?.state(true)
  connections[0]?.state(false)
  live.rest(true)
  await turns()
  connections[0]?.state(false)
  expect(received).toEqual([true, false, true, false])
})
