import type { ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { BerthError, createClient, followChanges, type SessionChange } from '../src/index.ts'
import { impatientPlatform } from './manual-clock.ts'
import { openStream, ScriptedApi, sendJson } from './scripted-api.ts'

const clean: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of clean.splice(0)) await one[Symbol.asyncDispose]()
})

/** Plays one connection of the feed each; the last stays open. */
async function follow(
  ...connections: readonly ((response: ServerResponse, lastEventId: string | undefined) => void)[]
) {
  const cursors: (string | undefined)[] = []
  const api = await ScriptedApi.start({
    other: (request, response) => {
      const id = request.headers['last-event-id']
      const lastEventId = typeof id === 'string' ? id : undefined
      connections[cursors.length]?.(response, lastEventId)
      cursors.push(lastEventId)
    },
  })
  clean.push(api)
  const leaving = new AbortController()
  const { platform } = impatientPlatform()
  const client = createClient({ baseUrl: api.url, credential: 'key', platform })
  const changes = followChanges({ client, signal: leaving.signal })
  const take = async (count: number): Promise<SessionChange[]> => {
    const taken: SessionChange[] = []
    while (taken.length < count) {
      const next = await changes.next()
      if (next.done === true) break
      taken.push(next.value)
    }
    return taken
  }
  return { cursors, take, leaving, api }
}

const list: SessionChange = { kind: 'list' }
const moved = (sessionId: string, lastEventSequence: number): SessionChange => ({
  kind: 'session',
  sessionId,
  lastEventSequence,
})
const notice = (id: string, sessionId: string, lastEventSequence: number) =>
  `id: ${id}\ndata: ${JSON.stringify({ sessionId, lastEventSequence, updatedAt: 'now', more: 1 })}\n\n`

test('the follower asks for the list once the feed has begun, and again only if it cannot resume', async () => {
  const { cursors, take } = await follow(
    response => {
      openStream(response)
      response.end(`id: 1\n\n: alive\n\n${notice('2', 'a', 5)}data: nothing\n\n${notice('3', 'b', 1)}`)
    },
    response => {
      openStream(response)
      response.write(notice('4', 'a', 6))
      response.write('id: 5\ndata: {"res', () => response.socket?.destroy())
    },
    response => {
      openStream(response)
      response.write(`id: 9\ndata: {"reset":true}\n\n${notice('10', 'c', 2)}`)
    },
  )
  expect(await take(6)).toEqual([list, moved('a', 5), moved('b', 1), moved('a', 6), list, moved('c', 2)])
  expect(cursors).toEqual([undefined, '3', '4'])
})

test('a feed that breaks before its first notice begins anew, with the list', async () => {
  const { cursors, take } = await follow(
    response => void response.socket?.destroy(),
    response => {
      openStream(response)
      response.write('id: 1\n\n', () => response.socket?.destroy())
    },
    response => sendJson(response, 503, { error: 'event_stream_unavailable' }),
    response => {
      openStream(response)
      response.write(`id: 2\n\n${notice('3', 'a', 1)}`)
    },
  )
  expect(await take(3)).toEqual([list, list, moved('a', 1)])
  expect(cursors).toEqual([undefined, undefined, undefined, undefined])
})

test('a refusal for good is thrown, and an abort ends the follower', async () => {
  const refused = await follow(response => sendJson(response, 403, { error: 'installation_principal_required' }))
  await expect(refused.take(1)).rejects.toThrow(BerthError)
  const { take, leaving } = await follow(response => {
    openStream(response)
    response.write('id: 1\n\n')
  })
  expect(await take(1)).toEqual([list])
  const rest = take(1)
  leaving.abort()
  expect(await rest).toEqual([])
})
