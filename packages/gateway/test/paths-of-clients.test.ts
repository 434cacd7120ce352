import { anthropicWire } from '@berth/testing/models/anthropic-wire.ts'
import { geminiWire } from '@berth/testing/models/gemini-wire.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, providerKey, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startScriptedUpstream()
  const origin = new URL(upstream.baseUrl).origin
  const models = [{ id: 'm1', contextTokens: 1000, outputTokens: 100 }, { id: 'vendor/m2:8b' }]
  const provider = (id: string, kind: string, baseUrl: string) => ({ id, kind, baseUrl, apiKey: providerKey, models })
  gateway = await startGatewayService({
    providers: [provider('a', 'anthropic', `${origin}/v1`), provider('g', 'google', `${origin}/v1beta`)],
    models: { aliases: { fast: 'main/m1', gemini: 'g/m1' } },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

type Sender = Readonly<Record<string, string>>
const openai = (): Sender => ({ authorization: `Bearer ${gateway.aiKey}` })
const google = (key = gateway.aiKey): Sender => ({ 'x-goog-api-key': key })
const anthropic = (key = gateway.aiKey): Sender => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' })

/** Sends a request, and reads the answer's status, headers and JSON. */
async function send(path: string, headers: Sender, body?: object) {
  const answer = await fetch(gateway.test.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

const contents = [{ role: 'user', parts: [{ text: 'a' }] }]
const refusedByGoogle = (code: number, reason: string) => ({
  status: code,
  body: { error: { code, details: [{ reason }] } },
})
const refusedByAnthropic = (status: number, code: string) => ({ status, body: { type: 'error', error: { code } } })

describe("Google's clients", () => {
  it.each(['/v1', '/v1beta'])(
    'call models below %s, with and without models/, slashes escaped or not',
    async version => {
      for (const id of ['gemini', 'g/m1', 'g%2Fm1', 'models/gemini', 'models/g/m1', 'models/g%2fm1']) {
        upstream.next((request, response) => geminiWire.write({ text: 'hello' }, request, response))
        const whole = await send(`${version}/${id}:generateContent`, google(), { contents })
        expect([id, whole.status]).toEqual([id, 200])
        expect(upstream.requests.at(-1)?.path).toBe('/v1beta/models/m1:generateContent')
        const count = await send(`${version}/${id}:countTokens`, google(), { contents })
        expect([id, count.status, upstream.requests.at(-1)?.path]).toEqual([id, 200, '/v1beta/models/m1:countTokens'])
      }
    },
  )

  it.each([
    ['/v1/models/gemini:generateContent'],
    ['/v1/g/m1:streamGenerateContent?alt=sse'],
    ['/v1beta/g/m1:generateContent'],
    ['/v1/models/gemini:embedContent'],
    ['/v1beta/models/gemini:embedContent'],
    ['/v1beta/cachedContents'],
    ['/v1/files'],
  ])('read in their own form why %s is refused', async path => {
    expect(await send(path, {}, { contents })).toMatchObject(
      path === '/v1/files'
        ? { status: 401, body: { error: 'bearer_credential_required' } }
        : refusedByGoogle(401, 'bearer_credential_required'),
    )
    expect(await send(path, google('svc_ai_live_x'), { contents })).toMatchObject(
      refusedByGoogle(401, 'invalid_or_expired_credential'),
    )
    if (/generateContent/i.test(path)) return
    const isModels = path.includes('/models/')
    expect(await send(path, google(), { contents })).toMatchObject(
      isModels ? refusedByGoogle(405, 'method_not_allowed') : refusedByGoogle(404, 'unknown_endpoint'),
    )
  })

  it('list the models that they can call, in pages, and read one', async () => {
    const all = ['models/g/m1', 'models/g/vendor/m2:8b', 'models/gemini']
    for (const version of ['/v1', '/v1beta']) {
      const listed = await send(`${version}/models?pageSize=2`, google())
      const first = listed.body as { models: { name: string }[]; nextPageToken?: string }
      expect(first.models[0]).toEqual({
        name: 'models/g/m1',
        displayName: 'g/m1',
        inputTokenLimit: 1000,
        outputTokenLimit: 100,
        supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
      })
      const token = encodeURIComponent(String(first.nextPageToken))
      const rest = await send(`${version}/models?pageSize=2&pageToken=${token}`, google())
      const second = rest.body as typeof first
      expect([...first.models, ...second.models].map(({ name }) => name)).toEqual(all)
      expect(second).not.toHaveProperty('nextPageToken')
      for (const name of all) {
        expect(await send(`${version}/${name}`, google())).toMatchObject({ status: 200, body: { name } })
      }
      expect(await send(`${version}/models/nope`, google())).toMatchObject(refusedByGoogle(404, 'model_not_found'))
      expect(await send(`${version}/models/a/m1`, google())).toMatchObject(refusedByGoogle(400, 'invalid_request'))
      expect(await send(`${version}/models?pageToken=nope`, google())).toMatchObject(
        refusedByGoogle(400, 'invalid_request'),
      )
    }
  })
})

describe("Anthropic's clients", () => {
  it('list the models that they can call, in pages both ways, and read one', async () => {
    const page = async (query: string) => {
      const { body } = await send(`/v1/models${query}`, anthropic())
      const { data, ...ends } = body as { data: { id: string }[] }
      return [data.map(({ id }) => id), ends]
    }
    const [m1, m2] = ['a/m1', 'a/vendor/m2:8b']
    expect(await page('')).toEqual([[m1, m2], { has_more: false, first_id: m1, last_id: m2 }])
    expect(await page('?limit=1')).toEqual([[m1], { has_more: true, first_id: m1, last_id: m1 }])
    expect(await page('?limit=1&after_id=a%2Fm1')).toEqual([[m2], { has_more: false, first_id: m2, last_id: m2 }])
    expect(await page(`?limit=1&before_id=${encodeURIComponent(m2)}`)).toEqual([
      [m1],
      { has_more: false, first_id: m1, last_id: m1 },
    ])
    const one = await send('/v1/models/a%2Fm1', anthropic())
    expect(one.body).toEqual({
      type: 'model',
      id: m1,
      display_name: m1,
      created_at: '1970-01-01T00:00:00Z',
      max_input_tokens: 1000,
      max_tokens: 100,
      capabilities: null,
    })
    expect(await send('/v1/models/nope', anthropic())).toMatchObject(refusedByAnthropic(404, 'model_not_found'))
    expect(await send('/v1/models?limit=0', anthropic())).toMatchObject(refusedByAnthropic(400, 'invalid_request'))
    expect(await send('/v1/models', anthropic('x'))).toMatchObject(
      refusedByAnthropic(401, 'invalid_or_expired_credential'),
    )
  })

  it('find the id of a request in the header that they read, whatever the answer', async () => {
    upstream.next((request, response) => anthropicWire.write({ text: 'hello' }, request, response))
    const message = (model: string) => ({ model, max_tokens: 9, messages: [{ role: 'user', content: 'a' }] })
    const answers = [
      await send('/v1/messages', anthropic(), message('a/m1')),
      await send('/v1/messages', anthropic(), message('nope')),
      await send('/v1/messages', anthropic('x'), message('a/m1')),
      await send('/v1/models', anthropic()),
      await send('/v1/files', anthropic()),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 401, 200, 404])
    for (const { headers } of answers) {
      expect(headers.get('request-id')).toMatch(/^[\w-]{36}$/)
      expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
    }
    expect(answers.at(-1)).toMatchObject(refusedByAnthropic(404, 'unknown_endpoint'))
  })
})

describe("OpenAI's clients", () => {
  it('read one model, by an id with slashes as they are or escaped', async () => {
    for (const id of ['main/m1', 'main%2Fm1', 'fast', 'a/vendor/m2:8b', 'a%2Fvendor%2Fm2%3A8b']) {
      const { status, body } = await send(`/v1/models/${id}`, openai())
      expect([status, body]).toMatchObject([200, { id: decodeURIComponent(id), object: 'model' }])
    }
    expect((await gateway.openai.models.retrieve('main/m1')).owned_by).toBe('main')
    expect(await send('/v1/models/main/nope', openai())).toMatchObject({
      status: 404,
      body: { error: { code: 'model_not_found', type: 'invalid_request_error', param: 'model' } },
    })
    expect(await send('/v1/models/main/m1', {})).toMatchObject({
      status: 401,
      body: { error: { code: 'bearer_credential_required', type: 'authentication_error' } },
    })
    expect((await send('/v1/models?limit=1', openai())).status).toBe(400)
  })

  it('are not shown a model that their organization may not use', async () => {
    const { db, tenant } = gateway.test
    await db.database.query('insert into organization_limits (organization_id, models) values ($1, array[$2])', [
      tenant.organizationId,
      'main/m1',
    ])
    expect((await send('/v1/models/main/m1', openai())).status).toBe(200)
    expect((await send('/v1/models/main/plain', openai())).status).toBe(404)
    expect((await send('/v1beta/models', google())).body).toEqual({ models: [] })
    await db.database.query('delete from organization_limits')
  })
})
