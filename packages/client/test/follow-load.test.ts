import { expect, test } from 'vitest'
import { createClient, followSession } from '../src/index.ts'
import { impatientPlatform } from './manual-clock.ts'
import { eventAt, frame, openStream, ScriptedApi, type StreamCall, sessionId } from './scripted-api.ts'

/** A repeatable random source, so that a failure can be reproduced. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const total = 10_000

/** Serves a part of the log like an unreliable network: frames dropped, repeated or cut, ends clean or not. */
function serveBadly(api: ScriptedApi, call: StreamCall, random: () => number): void {
  const { response, lastEventId } = call
  openStream(response)
  // The part is at least half a page long, so that the test stays short.
  const stretch = api.log.slice(lastEventId, lastEventId + 50 + Math.floor(random() * 400))
  const parts = stretch.map(event => {
    const luck = random()
    if (luck < 0.02) return ''
    return luck < 0.04 ? frame(event) + frame(event) : frame(event)
  })
  const ending = random()
  if (ending < 0.4) return void response.end(`${parts.join('')}retry: 10\n\n`)
  const cut = frame(eventAt(lastEventId + stretch.length + 1)).slice(0, 30)
  response.write(parts.join('') + cut, () => response.socket?.destroy())
}

test.each([1, 2])(
  '10 000 events over a connection that keeps breaking arrive exactly once, in order (seed %i)',
  async seed => {
    const random = chance(seed)
    await using api = await ScriptedApi.start({ stream: call => serveBadly(api, call, random) })
    api.append(total)
    const { platform } = impatientPlatform(2_000)
    const client = createClient({ baseUrl: api.url, credential: 'key', platform })
    let expected = 1
    for await (const event of followSession({ client, sessionId, until: event => event.sequence === total })) {
      if (event.sequence !== expected) expect(event.sequence).toBe(expected)
      expected++
    }
    expect(expected).toBe(total + 1)
    expect(api.streams).toBeGreaterThan(20)
  },
)

test('a slow consumer holds back the stream instead of filling the memory', async () => {
  let pulled = 0
  const body = () =>
    new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled++
          controller.enqueue(new TextEncoder().encode(frame(eventAt(pulled))))
        },
      },
      { highWaterMark: 0 },
    )
  const fetch = async (input: string | URL | Request) =>
    String(input).includes('/stream')
      ? new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
      : Response.json({ events: [], lastSequence: 0 })
  const client = createClient({ baseUrl: 'http://127.0.0.1', credential: 'key', platform: { fetch } })
  const events = followSession({ client, sessionId })
  const seen: unknown[] = []
  for (let i = 0; i < 5; i++) {
    seen.push((await events.next()).value)
    // The follower requests one chunk per Event, and none ahead.
    expect(pulled).toBe(i + 1)
  }
  expect(seen).toHaveLength(5)
  await events.return()
})
