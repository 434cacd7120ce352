import { expect, test } from 'vitest'
import { BerthConnectionError, BerthError, createClient } from '../src/index.ts'
import { impatientPlatform } from './manual-clock.ts'
import { type ApiScript, ScriptedApi, sendJson, sessionId } from './scripted-api.ts'

const session = { id: sessionId, title: 'a session' }

async function start(script: ApiScript, credential: Parameters<typeof createClient>[0]['credential'] = 'key') {
  const api = await ScriptedApi.start(script)
  const { platform, waits } = impatientPlatform()
  const client = createClient({ baseUrl: api.url, credential, platform })
  return { api, client, waits, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

test('writes carry the bearer, the JSON body and the caller’s id', async () => {
  const seen: unknown[] = []
  await using it = await start({
    other: (request, response, body) => {
      seen.push([request.method, request.url, request.headers.authorization, JSON.parse(body)])
      sendJson(response, 201, { session })
    },
  })
  expect(await it.client.call('createSession', { sessionId, body: { title: 'a session' } })).toEqual({ session })
  expect(seen[0]).toEqual(['PUT', `/v1/sessions/${sessionId}`, 'Bearer key', { title: 'a session' }])
})

test('an id can never lead to another path', async () => {
  await using it = await start({ other: (_, response) => sendJson(response, 200, {}) })
  await it.client.call('getSession', { sessionId: '../me?x#y' })
  expect(it.api.requests).toEqual(['GET /v1/sessions/..%2Fme%3Fx%23y'])
  await expect(it.client.call('archiveSession', { sessionId: '..' })).rejects.toThrow(TypeError)
  await expect(it.client.call('archiveSession', { sessionId: '' })).rejects.toThrow(TypeError)
  expect(it.api.requests).toHaveLength(1)
})

test('a refusal keeps status, code and fields, and is not retried', async () => {
  await using it = await start({
    other: (_, response) => sendJson(response, 403, { error: 'insufficient_scope', requiredScope: 'svc.x' }),
  })
  const failure = await it.client.call('getSession', { sessionId }).catch(error => error)
  expect(failure).toBeInstanceOf(BerthError)
  expect(failure).toMatchObject({ status: 403, code: 'insufficient_scope', fields: { requiredScope: 'svc.x' } })
  expect(it.api.requests).toHaveLength(1)
})

test('a conflict with a delay is thrown, and the caller decides about waiting', async () => {
  await using it = await start({
    other: (_, response) => sendJson(response, 409, { error: 'cloud_run_in_progress' }, { 'retry-after': '2' }),
  })
  const failure = await it.client
    .call('submitTurn', { sessionId, turnId: 't', body: { message: 'm' } })
    .catch(error => error)
  expect(failure).toMatchObject({ status: 409, code: 'cloud_run_in_progress', retryAfterSeconds: 2 })
  expect(it.api.requests).toHaveLength(1)
})

test.each([
  [
    '429 with a header',
    429,
    { error: 'cloud_rate_limit_exceeded', retryAfterSeconds: 7 },
    { 'retry-after': '7' },
    7000,
  ],
  ['429 with only the body’s field', 429, { error: 'cloud_rate_limit_exceeded', retryAfterSeconds: 3 }, {}, 3000],
  ['503', 503, { error: 'service_unavailable' }, { 'retry-after': '2' }, 2000],
  ['503 without a delay', 503, { error: 'service_unavailable' }, {}, 125],
] as const)('a %s is retried after its delay', async (_name, status, body, headers, waitMs) => {
  let calls = 0
  await using it = await start({
    other: (_, response) =>
      calls++ < 2 ? sendJson(response, status, body, headers) : sendJson(response, 200, { session }),
  })
  expect(await it.client.call('getSession', { sessionId })).toEqual({ session })
  expect(it.waits).toHaveLength(2)
  expect(it.waits[0]).toBe(waitMs)
})

test('retries are limited in number and by the requested delay', async () => {
  let after = '1'
  await using it = await start({
    other: (_, response) => sendJson(response, 503, { error: 'service_unavailable' }, { 'retry-after': after }),
  })
  await expect(it.client.call('listRuntimes')).rejects.toMatchObject({
    code: 'service_unavailable',
    retryAfterSeconds: 1,
  })
  expect(it.api.requests).toHaveLength(5)
  after = '3600'
  await expect(it.client.call('listRuntimes')).rejects.toMatchObject({ retryAfterSeconds: 3600 })
  expect(it.api.requests).toHaveLength(6)
})

test('a date to wait for is read by the clock of whoever names it', async () => {
  const hourAhead = (seconds: number) => new Date(Date.now() + 3_600_000 + seconds * 1000).toUTCString()
  const headers = { date: hourAhead(0), 'retry-after': hourAhead(7) }
  await using it = await start({
    other: (_, response) => sendJson(response, 409, { error: 'cloud_run_in_progress' }, headers),
  })
  const { retryAfterSeconds } = await it.client
    .call('getSession', { sessionId })
    .catch((error: unknown) => Object(error))
  // Two calls of the clock may fall into different seconds.
  expect([7, 8]).toContain(retryAfterSeconds)
})

test('an error of a proxy has no code', async () => {
  await using it = await start({ other: (_, response) => response.writeHead(502).end('<html>bad gateway</html>') })
  await expect(it.client.call('getSession', { sessionId })).rejects.toMatchObject({ status: 502, code: null })
})

test.each(['null', '[]', '"x"', '<html>'])(
  'a body that the service would not send is a connection error: %s',
  async text => {
    await using it = await start({ other: (_, response) => response.writeHead(200).end(text) })
    const failure = await it.client.call('listSessions').catch(caught => caught)
    expect(failure).toBeInstanceOf(BerthConnectionError)
    expect(failure.message).toContain('did not come from the service')
  },
)

test('a call whose connection is cut before or within the response is retried', async () => {
  let calls = 0
  await using it = await start({
    other: (_, response) => {
      calls++
      if (calls === 1) return response.socket?.destroy()
      if (calls === 3) return sendJson(response, 200, { session })
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      return response.write('{"session":', () => response.socket?.destroy())
    },
  })
  expect(await it.client.call('getSession', { sessionId })).toEqual({ session })
  expect(calls).toBe(3)
})

test('an absent service is a connection error, not a refusal', async () => {
  const api = await ScriptedApi.start({})
  const { platform } = impatientPlatform()
  const client = createClient({ baseUrl: api.url, credential: 'key', platform })
  await api[Symbol.asyncDispose]()
  await expect(client.call('listRuntimes')).rejects.toBeInstanceOf(BerthConnectionError)
})

test('an abort ends a call that waits for its response, and one that waits for its retry', async () => {
  const reason = new Error('enough')
  const first = new AbortController()
  await using it = await start({ other: () => first.abort(reason) })
  await expect(it.client.call('listRuntimes', {}, { signal: first.signal })).rejects.toBe(reason)

  const second = new AbortController()
  await using busy = await start({ other: (_, response) => sendJson(response, 503, {}, { 'retry-after': '1' }) })
  const client = createClient({
    baseUrl: busy.api.url,
    credential: 'key',
    platform: {
      sleep: (ms, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          if (ms === 1000) second.abort(reason)
        }),
      random: () => 0,
    },
  })
  await expect(client.call('listRuntimes', {}, { signal: second.signal })).rejects.toBe(reason)
})

test('an expired token is renewed once, and a refused key is not', async () => {
  const renewals: boolean[] = []
  await using it = await start(
    {
      other: (request, response) =>
        request.headers.authorization === 'Bearer fresh'
          ? sendJson(response, 200, { session })
          : sendJson(response, 401, { error: 'invalid_or_expired_credential' }),
    },
    ({ renew }) => {
      renewals.push(renew)
      return renew ? 'fresh' : 'stale'
    },
  )
  expect(await it.client.call('getSession', { sessionId })).toEqual({ session })
  expect(renewals).toEqual([false, true])
  const fixed = createClient({ baseUrl: it.api.url, credential: 'stale' })
  await expect(fixed.call('getSession', { sessionId })).rejects.toMatchObject({ status: 401 })
})

test('a path prefix of the base URL is kept', async () => {
  await using it = await start({ other: (_, response) => sendJson(response, 200, {}) })
  await createClient({ baseUrl: `${it.api.url}/berth/`, credential: 'key' }).call('listRuntimes')
  expect(it.api.requests).toEqual(['GET /berth/v1/runtimes'])
})
