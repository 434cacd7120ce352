import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { createAiKey, type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { startTestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
beforeAll(async () => {
  gateway = await startGatewayService({ fixed: { gatewayBodyBytes: 2_000_000 } })
  gateway.upstream.next(says({ text: 'hello' }))
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Refusal {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly param: string | null
    readonly code: string
  }
}

async function send(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  const init = { method, headers: { authorization: `Bearer ${gateway.aiKey}`, ...headers } }
  const answer = await fetch(gateway.test.url + path, { ...init, ...(body !== undefined && { body }) })
  const { error } = (await answer.json()) as Refusal
  return { status: answer.status, error, headers: answer.headers }
}

const json = { 'content-type': 'application/json' }
const post = (path: string, body: unknown) =>
  send('POST', path, json, typeof body === 'string' ? body : JSON.stringify(body))

const messages = [{ role: 'user', content: 'a' }]

describe('a refusal has the body of OpenAI, in the order of checks', () => {
  const chat = '/v1/chat/completions'
  const large = JSON.stringify({ model: 'a'.repeat(2_000_000) })
  const cases: readonly (readonly [string, () => ReturnType<typeof send>, number, string, string, string | null])[] = [
    [
      'no bearer',
      () => send('POST', chat, { authorization: '' }),
      401,
      'authentication_error',
      'bearer_credential_required',
      null,
    ],
    [
      'a bearer of nobody',
      () => send('GET', '/v1/models', { authorization: 'Bearer x' }),
      401,
      'authentication_error',
      'invalid_or_expired_credential',
      null,
    ],
    [
      'a bearer of nobody before no JSON',
      () => send('POST', chat, { ...json, authorization: 'Bearer x' }, '{"model":'),
      401,
      'authentication_error',
      'invalid_or_expired_credential',
      null,
    ],
    [
      'the organization header before no JSON',
      () => send('POST', chat, { ...json, 'x-svc-organization': 'x' }, '{"model":'),
      400,
      'invalid_request_error',
      'invalid_organization',
      null,
    ],
    [
      'the organization header',
      () => send('GET', '/v1/models', { 'x-svc-organization': 'x' }),
      400,
      'invalid_request_error',
      'invalid_organization',
      null,
    ],
    ['another method', () => send('GET', chat), 405, 'invalid_request_error', 'method_not_allowed', null],
    [
      'another type',
      () => send('POST', chat, { 'content-type': 'text/plain' }, 'a'),
      415,
      'invalid_request_error',
      'unsupported_media_type',
      null,
    ],
    [
      'a body too large',
      () => send('POST', chat, json, large),
      413,
      'invalid_request_error',
      'request_entity_too_large',
      null,
    ],
    ['no JSON', () => post(chat, '{"model":'), 400, 'invalid_request_error', 'malformed_request_body', null],
    ['no messages', () => post(chat, { model: 'fast' }), 400, 'invalid_request_error', 'invalid_request', 'messages'],
    [
      'an undocumented field',
      () => post(chat, { model: 'fast', messages, top_k: 1 }),
      400,
      'invalid_request_error',
      'invalid_request',
      'top_k',
    ],
    [
      'a wrong role',
      () => post(chat, { model: 'fast', messages: [{ role: 'x' }] }),
      400,
      'invalid_request_error',
      'invalid_request',
      'messages[0].role',
    ],
    [
      'an unknown model',
      () => post(chat, { model: 'main/nope', messages }),
      404,
      'invalid_request_error',
      'model_not_found',
      'model',
    ],
    [
      'tools for what has none',
      () => post(chat, { model: 'main/plain', messages, tools: [{ type: 'function' }] }),
      400,
      'invalid_request_error',
      'invalid_request',
      'tools',
    ],
    [
      'effort for what does not reason',
      () => post('/v1/responses', { model: 'main/plain', input: 'a', reasoning: { effort: 'low' } }),
      400,
      'invalid_request_error',
      'invalid_request',
      'reasoning.effort',
    ],
    ...(
      [
        ['previous_response_id', 'resp_1'],
        ['conversation', { id: 'conv_1' }],
        ['background', true],
      ] as const
    ).map(
      ([field, value]) =>
        [
          field,
          () => post('/v1/responses', { model: 'fast', input: 'a', [field]: value }),
          400,
          'invalid_request_error',
          'invalid_request',
          field,
        ] as const,
    ),
  ]

  it.each(cases)('%s', async (_, provoke, status, type, code, param) => {
    const refused = await provoke()
    expect(refused).toMatchObject({ status, error: { type, code, param } })
    expect(refused.error.message).not.toBe('')
  })

  it('gives the remedy for an unknown model', async () => {
    const { error } = await post(chat, { model: 'main/nope', messages })
    expect(error.message).toContain('providers')
    await using bare = await startTestService({ variables: { BERTH_ROLES: 'gateway' } })
    const { aiKey: key } = await createAiKey(bare.db.database, bare.tenant)
    const init = { headers: { ...json, authorization: `Bearer ${key}` } }
    expect(await (await fetch(`${bare.url}/v1/models`, init)).json()).toEqual({ object: 'list', data: [] })
    const body = JSON.stringify({ model: 'a/b', messages })
    const answer = await fetch(bare.url + chat, { ...init, method: 'POST', body })
    expect([answer.status, await answer.text()]).toEqual([
      404,
      expect.stringContaining('No model provider is configured'),
    ])
  })

  it('accepts a prompt of a megabyte, and null wherever OpenAI does', async () => {
    const body = { model: 'fast', input: 'ä'.repeat(500_000), previous_response_id: null, tools: [], metadata: null }
    const answer = await gateway.call('/v1/responses', body)
    expect(answer.status).toBe(200)
  })
})

describe('the listener of the gateway', () => {
  it("serves only the gateway's paths without the API, and none of them without the gateway", async () => {
    await using alone = await startTestService({ variables: { BERTH_ROLES: 'gateway' } })
    const codeOf = async (path: string) => {
      const answer = await fetch(alone.url + path, { headers: { authorization: `Bearer ${alone.tenant.apiKey}` } })
      return [answer.status, await answer.json()]
    }
    expect(await codeOf('/v1/models')).toMatchObject([401, { error: { code: 'invalid_or_expired_credential' } }])
    expect(await codeOf('/v1/sessions')).toEqual([404, { error: 'unknown_endpoint' }])
    expect((await fetch(`${alone.url}/healthz`)).status).toBe(200)
    await using api = await startTestService({ variables: { BERTH_ROLES: 'api' } })
    expect((await api.api.get('/v1/models')).body).toEqual({ error: 'unknown_endpoint' })
  })
})

describe('metrics', () => {
  it('report on the gateway and the service, on a loopback port of their own', async () => {
    await using measured = await startGatewayService({ variables: { BERTH_METRICS_PORT: '0' } })
    measured.upstream.next(says({ text: 'hello' }))
    await (await measured.call('/v1/chat/completions', { model: 'fast', messages })).text()
    const origin = `http://127.0.0.1:${measured.test.service.metricsPort}`
    const text = await (await fetch(`${origin}/metrics`)).text()
    expect(text).toContain(
      'berth_gateway_requests_total{provider="main",wire="chat",credential="ai_key",outcome="completed"} 1',
    )
    expect(text).toContain('berth_gateway_tokens_total{provider="main",credential="ai_key",kind="cached_input"} 40')
    expect(text).toContain('process_resident_memory_bytes')
    expect(text).toContain('# TYPE berth_runs_active gauge')
    expect((await fetch(`${origin}/`)).status).toBe(404)
  })
})

describe('a body', () => {
  const body = Buffer.from(JSON.stringify({ model: 'fast', messages }))
  const head = (length: string, bearer = gateway.aiKey) =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${bearer}\r\n` +
    `content-type: application/json\r\nconnection: close\r\n${length}\r\n\r\n`
  const dial = () => connect(Number(new URL(gateway.test.url).port), '127.0.0.1')

  it.each([
    ['in pieces', (length: number) => `content-length: ${length}`, (part: Buffer) => part],
    [
      'in chunks of no told length',
      () => 'transfer-encoding: chunked',
      (part: Buffer, last: boolean) =>
        Buffer.concat([
          Buffer.from(`${part.length.toString(16)}\r\n`),
          part,
          Buffer.from(`\r\n${last ? '0\r\n\r\n' : ''}`),
        ]),
    ],
  ])('may come after the guard has judged, %s', async (_, length, framed) => {
    const db = gateway.test.db.database
    const { aiKey, apiKeyId } = await createAiKey(db, (await gateway.test.newTenant()).tenant)
    const socket = dial()
    socket.write(head(length(body.length), aiKey))
    await until('the guard has judged', async () => {
      const { rows } = await db.query(
        "select from rate_buckets where key = (select 'ai/installation/' || installation_id from api_keys where id = $1)",
        [apiKeyId],
      )
      return rows.length > 0
    })
    socket.write(framed(body.subarray(0, 10), false))
    socket.write(framed(body.subarray(10), true))
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it("that breaks off is nobody else's fault, however its sender is judged", async () => {
    for (const bearer of [gateway.aiKey, 'x']) {
      const socket = dial()
      socket.write(head(`content-length: ${body.length}`, bearer))
      socket.end(body.subarray(0, 10))
      await text(socket)
    }
    expect((await post('/v1/chat/completions', '{')).status).toBe(400)
  })

  it('is checked after the capability', async () => {
    const { aiKey } = await createAiKey(gateway.test.db.database, gateway.test.tenant, ['svc.cloud.access'])
    const refused = await send('POST', '/v1/chat/completions', { ...json, authorization: `Bearer ${aiKey}` }, '{')
    expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_scope'])
  })
})
