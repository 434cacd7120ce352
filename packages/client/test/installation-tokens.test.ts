import { createHash, generateKeyPairSync, verify } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { createClient, createInstallationTokens, type InstallationTokenOptions } from '../src/index.ts'
import { ScriptedApi, sendJson } from './scripted-api.ts'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
const { x } = publicKey.export({ format: 'jwk' })
const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url')

/** What one exchange got: the claims of a signed assertion and the rest of the body. */
interface Exchange {
  readonly claims: Readonly<Record<string, unknown>>
  readonly header: Readonly<Record<string, unknown>>
  readonly rest: Readonly<Record<string, unknown>>
}

const startMs = Date.parse('2026-03-01T12:00:00Z')

/** An account service that judges assertions by a clock of its own, and an API that takes its tokens. */
async function start(options: Partial<InstallationTokenOptions> = {}) {
  const exchanges: Exchange[] = []
  const state = { nowMs: startMs, serviceAheadMs: 0, valid: new Set<string>() }
  const issue = (response: ServerResponse) => {
    const token = `token-${exchanges.length}`
    state.valid.add(token)
    sendJson(response, 200, { success: true, token, expiresIn: 600 })
  }
  const script = { answer: issue }
  const api = await ScriptedApi.start({
    other: (request, response, body) => {
      if (request.url !== '/auth/app-installation-token') {
        const bearer = String(request.headers.authorization).replace('Bearer ', '')
        const holds = state.valid.has(bearer)
        sendJson(response, holds ? 200 : 401, holds ? { bearer } : { error: 'invalid_or_expired_credential' })
        return
      }
      response.setHeader('date', new Date(state.nowMs + state.serviceAheadMs).toUTCString())
      const { assertion, ...rest } = JSON.parse(body)
      const [head, claims, signature] = String(assertion).split('.')
      const read = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())
      expect(verify(null, Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature ?? '', 'base64url'))).toBe(
        true,
      )
      exchanges.push({ claims: read(claims), header: read(head), rest })
      const { iat, exp } = read(claims)
      const serviceSeconds = (state.nowMs + state.serviceAheadMs) / 1000
      if (iat > serviceSeconds + 60 || exp + 60 <= serviceSeconds) {
        sendJson(response, 401, { error: 'invalid_assertion' })
      } else script.answer(response)
    },
  })
  const tokens = createInstallationTokens({
    ...{ authUrl: `${api.url}/`, appSlug: 'my-app', privateKey: pem },
    ...{ installationId: 'installation', resourceAudience: 'svc-cloud' },
    platform: { now: () => state.nowMs },
    ...options,
  })
  return { api, exchanges, state, script, issue, tokens, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

const refuse = (status: number, error: string) => (response: ServerResponse) => sendJson(response, status, { error })

test('an assertion names the app and its key, and is dated back by the service’s clock', async () => {
  await using it = await start({ setupAuthorityId: 'consent' })
  expect(await it.tokens()).toBe('token-1')
  const iat = startMs / 1000 - 30
  expect(it.exchanges).toEqual([
    {
      header: { alg: 'EdDSA', kid, typ: 'JWT' },
      claims: { iss: 'my-app', sub: 'my-app', aud: `${it.api.url}/oidc`, iat, exp: iat + 540 },
      rest: { installationId: 'installation', resourceAudience: 'svc-cloud', setupAuthorityId: 'consent' },
    },
  ])
})

test('an issuer and a key id that are given stand in the assertion', async () => {
  await using it = await start({ issuer: 'https://auth.example/oidc', kid: 'mine' })
  await it.tokens()
  expect(it.exchanges[0]).toMatchObject({ header: { kid: 'mine' }, claims: { aud: 'https://auth.example/oidc' } })
})

test.each([-3_600_000, 3_600_000])('a clock that is %i ms off is corrected after one refusal', async serviceAheadMs => {
  await using it = await start()
  it.state.serviceAheadMs = serviceAheadMs
  expect(await it.tokens()).toBe('token-2')
  expect(it.exchanges[1]?.claims['iat']).toBe((startMs + serviceAheadMs) / 1000 - 30)
  it.state.nowMs += 600_000
  await it.tokens()
  expect(it.exchanges).toHaveLength(3)
})

test('an assertion that the service never takes is tried twice, and its refusal reaches the caller', async () => {
  await using it = await start()
  it.script.answer = refuse(401, 'invalid_assertion')
  await expect(it.tokens()).rejects.toMatchObject({ status: 401, code: 'invalid_assertion' })
  expect(it.exchanges).toHaveLength(2)
  it.script.answer = refuse(404, 'installation_not_found')
  await expect(it.tokens()).rejects.toMatchObject({ status: 404, code: 'installation_not_found' })
  expect(it.exchanges).toHaveLength(3)
})

test('calls at one moment share one exchange, and later ones the token', async () => {
  await using it = await start()
  expect(await Promise.all([it.tokens(), it.tokens(), it.tokens()])).toEqual(['token-1', 'token-1', 'token-1'])
  it.state.nowMs += 539_000
  expect(await it.tokens()).toBe('token-1')
  expect(it.exchanges).toHaveLength(1)
})

test('a token is renewed once ahead of its end while it still serves', async () => {
  await using it = await start()
  await it.tokens()
  it.state.nowMs += 545_000
  const renewed = Promise.withResolvers<void>()
  it.script.answer = response => {
    it.issue(response)
    response.once('close', () => renewed.resolve())
  }
  expect(await Promise.all([it.tokens(), it.tokens()])).toEqual(['token-1', 'token-1'])
  await renewed.promise
  await expect.poll(() => it.tokens()).toBe('token-2')
  expect(it.exchanges).toHaveLength(2)
})

test('a renewal that fails ahead of the end is repeated after a pause, and told once the token has ended', async () => {
  await using it = await start()
  await it.tokens()
  it.script.answer = refuse(503, 'service_unavailable')
  it.state.nowMs += 541_000
  expect(await it.tokens()).toBe('token-1')
  await expect.poll(() => it.exchanges.length).toBe(2)
  for (let turn = 0; turn < 100; turn += 1) {
    expect(await it.tokens()).toBe('token-1')
    await new Promise(setImmediate)
  }
  expect(it.exchanges).toHaveLength(2)
  const later = async () => {
    it.state.nowMs += 1_000
    await it.tokens()
    return it.exchanges.length
  }
  await expect.poll(later).toBe(3)
  it.state.nowMs = startMs + 600_000
  await expect(it.tokens()).rejects.toMatchObject({ status: 503 })
})

test('a client renews a token that the API refuses, once for all its calls', async () => {
  await using it = await start()
  const client = createClient({ baseUrl: it.api.url, credential: it.tokens })
  expect(await client.call('getSession', { sessionId: 's' })).toEqual({ bearer: 'token-1' })
  it.state.nowMs += 10_000
  it.state.valid.clear()
  const answers = await Promise.all([
    client.call('getSession', { sessionId: 's' }),
    client.call('listRuntimes'),
    client.call('getSession', { sessionId: 't' }),
  ])
  expect(answers).toEqual(Array.from({ length: 3 }, () => ({ bearer: 'token-2' })))
  expect(it.exchanges).toHaveLength(2)
})

test('a client whose installation was revoked gets the refusal of the exchange', async () => {
  await using it = await start()
  const client = createClient({ baseUrl: it.api.url, credential: it.tokens })
  await client.call('getSession', { sessionId: 's' })
  it.state.nowMs += 10_000
  it.state.valid.clear()
  it.script.answer = refuse(404, 'installation_not_found')
  await expect(client.call('getSession', { sessionId: 's' })).rejects.toMatchObject({ code: 'installation_not_found' })
})

test.each([
  ['not a key', 'nonsense'],
  ['a public key', String(publicKey.export({ type: 'spki', format: 'pem' }))],
  [
    'a key of another type',
    String(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })),
  ],
])('%s is refused in words that do not quote it', async (_, key) => {
  await using it = await start({ privateKey: key })
  await expect(it.tokens()).rejects.toThrow(new TypeError('privateKey must be an Ed25519 private key as PKCS #8 PEM'))
  expect(it.exchanges).toEqual([])
})

test('an answer of something else is a fault of the connection', async () => {
  await using it = await start()
  it.script.answer = response => sendJson(response, 200, { hello: 'proxy' })
  await expect(it.tokens()).rejects.toThrow('the response did not come from the service')
  await it.api[Symbol.asyncDispose]()
  it.api[Symbol.asyncDispose] = async () => {}
  await expect(it.tokens()).rejects.toThrow('the connection failed')
})
