import { readFileSync } from 'node:fs'
import { operationIds, operationOf } from '@berth/contract'
import { expect, expectTypeOf, test } from 'vitest'
import { printClient } from '../../../script/client/print-operations.ts'
import { operationTable } from '../src/generated/operation-table.ts'
import {
  type Artifact,
  type Attempt,
  BerthError,
  createClient,
  type Event,
  hasCode,
  type Issue,
  isEvent,
  type SessionEnvelope,
} from '../src/index.ts'
import { impatientPlatform } from './manual-clock.ts'
import { type ApiScript, eventAt, ScriptedApi, sendJson, sessionId } from './scripted-api.ts'

type Options = Partial<Parameters<typeof createClient>[0]>

async function start(script: ApiScript, options: Options = {}) {
  const api = await ScriptedApi.start(script)
  const { platform, waits } = impatientPlatform()
  const client = createClient({ baseUrl: api.url, credential: 'key', platform, ...options })
  return { api, client, waits, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

const sources = new URL('../src/generated/', import.meta.url)

test('the client calls every operation of the contract that needs no browser', () => {
  const wanted = operationIds.filter(id => operationOf(id).access !== 'browser')
  expect(Object.keys(operationTable)).toEqual(wanted)
  for (const id of wanted) {
    expect(operationTable[id as keyof typeof operationTable]).toMatchObject({
      method: operationOf(id).method,
      path: operationOf(id).path,
    })
  }
})

test('types and table are those that the contract has now; `node script/client.ts` writes them', () => {
  const { types, table } = printClient()
  expect(readFileSync(new URL('types.ts', sources), 'utf8')).toBe(types)
  expect(readFileSync(new URL('operation-table.ts', sources), 'utf8')).toBe(table)
})

test('inputs and answers are typed', () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:9', credential: 'key' })
  expectTypeOf(client.call<'getSession'>)
    .parameter(1)
    .toEqualTypeOf<{ sessionId: string }>()
  expectTypeOf(client.call<'getSession'>).returns.resolves.toEqualTypeOf<SessionEnvelope>()
  expectTypeOf(client.call<'archiveSession'>).returns.resolves.toEqualTypeOf<undefined>()
  expectTypeOf(client.call<'getArtifactContent'>).returns.resolves.toEqualTypeOf<Response>()
  expectTypeOf(client.items<'listArtifacts'>).returns.toEqualTypeOf<AsyncGenerator<Artifact, void, undefined>>()
  // @ts-expect-error: a Session needs its id
  void (() => client.call('getSession', {}))
  // @ts-expect-error: the answer is no page
  void (() => client.items('getSession', { sessionId }))
})

test('a call fills in its path, query and body, and reads each kind of answer', async () => {
  const bodies: unknown[] = []
  await using it = await start({
    other: (request, response, body) => {
      bodies.push(body)
      if (request.method === 'DELETE') return response.writeHead(204).end()
      if (request.url?.endsWith('/content')) return response.end('bytes')
      return sendJson(response, 200, { ok: true })
    },
  })
  const { client } = it
  expect(await client.call('listSessions', { query: { limit: 2, 'origin.objectId': 'x y' } })).toEqual({ ok: true })
  expect(await client.call('archiveSession', { sessionId: 's/1' })).toBeUndefined()
  const content = await client.call('getArtifactContent', { sessionId: 's', artifactId: 'a' })
  expect(await content.text()).toBe('bytes')
  await client.call('updateSession', { sessionId: 's', body: { title: 't' } })
  await client.call('countContentTokens', { model: 'gemini/x', body: { contents: [] } as never })
  await client.call('followLive', { query: { session: ['a:1', 'b:2'] } })
  await expect(client.call('getSession', {} as never)).rejects.toThrow('/v1/sessions/{sessionId} needs sessionId')
  expect(it.api.requests).toEqual([
    'GET /v1/sessions?limit=2&origin.objectId=x+y',
    'DELETE /v1/sessions/s%2F1',
    'GET /v1/sessions/s/artifacts/a/content',
    'PATCH /v1/sessions/s',
    'POST /v1beta/models/gemini%2Fx%3AcountTokens',
    'GET /cloud/live?session=a%3A1&session=b%3A2',
  ])
  expect(bodies[3]).toBe('{"title":"t"}')
})

test('an id that the caller leaves out is chosen once for all attempts', async () => {
  const keys: string[] = []
  await using it = await start({
    other: (_, response, body) => {
      keys.push(JSON.parse(body).idempotencyKey)
      sendJson(response, it.api.requests.length % 2 === 1 ? 503 : 200, { error: 'service_unavailable' })
    },
  })
  await it.client.call('createSession', { body: { title: 't' } })
  await it.client.call('createSession', { body: { title: 't' } })
  const [first, second, third, fourth] = it.api.requests
  expect(first).toMatch(/^PUT \/v1\/sessions\/[0-9a-f-]{36}$/)
  expect(second).toBe(first)
  expect(fourth).toBe(third)
  expect(third).not.toBe(first)
  const decision = { requestId: 'r', choice: 'allow_once' } as const
  // JSON has no undefined, so a member that is there without a value is left out too.
  const body = { ...decision, idempotencyKey: undefined } as never
  await it.client.call('decideInteraction', { sessionId, interactionId: 'i', body })
  expect(keys.at(-1)).toMatch(/^[0-9a-f-]{36}$/)
  expect(keys.at(-2)).toBe(keys.at(-1))
})

test('a request that would do its work twice is sent again after a 429 alone', async () => {
  await using it = await start({
    other: (_, response) => {
      const refused = it.api.requests.length === 1
      sendJson(response, refused ? 429 : 503, { error: refused ? 'cloud_rate_limit_exceeded' : 'service_unavailable' })
    },
  })
  const input = { organizationId: 'o', body: { name: 'ci' } } as const
  await expect(it.client.call('createIntegration', input as never)).rejects.toThrow('503')
  expect(it.api.requests).toHaveLength(2)
  // The delivery may have arrived before the request is repeated, which would send it once more.
  for (const id of ['redeliverWebhook', 'replayWebhook'] as const) expect(operationTable[id]).toHaveProperty('once')
})

test('a call may have its own credential, headers, patience and signal', async () => {
  const seen: unknown[] = []
  await using it = await start({
    other: ({ headers }, response) => {
      seen.push([headers.authorization, headers['x-mine']])
      sendJson(response, 503, { error: 'service_unavailable' })
    },
  })
  const options = { credential: 'other', headers: { 'x-mine': '1' }, retry: { attempts: 2 } }
  await expect(it.client.call('getMe', {}, options)).rejects.toThrow('503')
  expect(seen).toEqual(Array(2).fill(['Bearer other', '1']))
  const aborted = AbortSignal.abort(new Error('enough'))
  await expect(it.client.call('listSessions', {}, { signal: aborted })).rejects.toThrow('enough')
})

test('operations of the account service go to its own origin', async () => {
  await using account = await ScriptedApi.start({ other: (_, response) => sendJson(response, 200, { apps: [] }) })
  await using it = await start({}, { authUrl: `${account.url}/accounts` })
  await it.client.call('listApps')
  expect(account.requests).toEqual(['GET /accounts/api/apps'])
  expect(it.api.requests).toEqual([])
})

test('items goes through every page of each kind', async () => {
  await using it = await start({
    other: ({ url = '' }, response) => {
      const { pathname, searchParams: query } = new URL(url, 'http://loopback')
      if (pathname === '/v1/sessions') {
        const more = query.get('cursor') === null
        return sendJson(response, 200, {
          sessions: [{ id: more ? 1 : 2 }],
          nextCursor: more ? 'c' : null,
          hasMore: more,
        })
      }
      if (pathname.endsWith('/turns')) {
        const after = Number(query.get('after') ?? -1)
        return sendJson(response, 200, { turns: [{ id: after }], nextAfter: after + 1, hasMore: after < 1 })
      }
      const before = Number(query.get('before') ?? 3)
      return sendJson(response, 200, { revisions: [before], nextBefore: before === 1 ? null : before - 1 })
    },
  })
  it.api.append(250)
  const all = async <T>(items: AsyncIterable<T>) => {
    const found: T[] = []
    for await (const item of items) found.push(item)
    return found
  }
  const { client } = it
  expect(await all(client.items('listSessions', { query: { limit: 1 } }))).toEqual([{ id: 1 }, { id: 2 }])
  expect(it.api.requests).toEqual(['GET /v1/sessions?limit=1', 'GET /v1/sessions?limit=1&cursor=c'])
  expect(await all(client.items('listTurns', { sessionId }))).toEqual([{ id: -1 }, { id: 0 }, { id: 1 }])
  expect(await all(client.items('listEnvironmentRevisions', { environmentId: 'e' }))).toEqual([3, 2, 1])
  const events: Event[] = await all(client.items('listEvents', { sessionId }))
  expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 250 }, (_, at) => at + 1))
})

test('hooks see each attempt, may add headers and never see the credential', async () => {
  const notices: unknown[] = []
  const attempts: Attempt[] = []
  const traces: unknown[] = []
  await using it = await start(
    {
      other: ({ headers }, response) => {
        traces.push(headers['traceparent'])
        const failed = it.api.requests.length === 1
        const body = failed ? { error: 'service_unavailable' } : {}
        sendJson(response, failed ? 503 : 200, body, { 'x-request-id': 'r-1' })
      },
    },
    {
      hooks: {
        onRequest: (attempt, headers) => {
          attempts.push(attempt)
          notices.push(['request', attempt.operation, attempt.attempt, headers.get('authorization')])
          headers.set('traceparent', `trace-${attempt.attempt}`)
        },
        onResponse: (attempt, { status, requestId }) => {
          expect(attempts).toContain(attempt)
          notices.push(['response', status, requestId])
        },
        onRetry: ({ attempt, failure }) => notices.push(['retry', attempt, (failure as BerthError).requestId]),
      },
    },
  )
  await it.client.call('getMe')
  expect(notices).toEqual([
    ['request', 'getMe', 1, null],
    ['response', 503, 'r-1'],
    ['retry', 1, 'r-1'],
    ['request', 'getMe', 2, null],
    ['response', 200, 'r-1'],
  ])
  expect(traces).toEqual(['trace-1', 'trace-2'])
})

test('a code narrows a refusal to its fields, and a type an Event to its data', () => {
  const refusal: unknown = new BerthError({ status: 400, code: 'invalid_request', fields: { issues: [] } })
  expect(hasCode(refusal, 'insufficient_scope')).toBe(false)
  expect(hasCode(new Error('invalid_request'), 'invalid_request')).toBe(false)
  if (!hasCode(refusal, 'invalid_request')) throw new Error('the code is that of the refusal')
  expectTypeOf(refusal.fields.issues).toEqualTypeOf<Issue[]>()
  const event = eventAt(1, { type: 'svc.run.failed', data: { stopReason: 'error' } })
  expect(isEvent(event, 'svc.run.completed')).toBe(false)
  expect(isEvent(event, 'svc.run.failed') && event.sequence).toBe(1)
})
