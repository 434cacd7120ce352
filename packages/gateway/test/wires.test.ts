import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { anthropicFrames, anthropicWire } from '@berth/testing/models/anthropic-wire.ts'
import { geminiFrames, geminiWire } from '@berth/testing/models/gemini-wire.ts'
import type { ModelReply, WireFormat } from '@berth/testing/models/model-server.ts'
import {
  type Behaviour,
  type ScriptedUpstream,
  sends,
  startScriptedUpstream,
} from '@berth/testing/models/scripted-upstream.ts'
import {
  createAiKey,
  type GatewayService,
  providerKey,
  startGatewayService,
} from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { generateText, jsonSchema, type LanguageModel, streamText, tool } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
let upstream: ScriptedUpstream

const price = { input: 1, cachedInput: 0.5, output: 10 }
const models = [
  { id: 'm1', outputTokens: 8192, price },
  { id: 'm2', price },
]

beforeAll(async () => {
  upstream = await startScriptedUpstream()
  const origin = new URL(upstream.baseUrl).origin
  const provider = (id: string, kind: string, baseUrl: string) => ({ id, kind, baseUrl, apiKey: providerKey, models })
  gateway = await startGatewayService({
    fixed: { gatewayIdleMs: 6000 },
    providers: [provider('a', 'anthropic', `${origin}/v1`), provider('g', 'google', `${origin}/v1beta`)],
    models: {
      aliases: { claude: 'a/m1', gemini: 'g/m1', 'safe-claude': 'a/m2', 'safe-gemini': 'g/m2' },
      fallbacks: { 'safe-claude': ['main/m1', 'a/m1'], 'safe-gemini': ['main/m1', 'g/m1'] },
    },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

interface Form {
  readonly name: string
  readonly provider: 'a' | 'g'
  readonly alias: string
  readonly keyHeader: string
  readonly wire: WireFormat
  frames(reply: ModelReply): string[]
  path(model: string, streams: boolean): string
  readonly countPath: string
  body(model: string, streams: boolean): object
  client(options: { baseURL: string; apiKey: string }): LanguageModel
  /** Reads kind, code and message of a refusal in the format's own terms. */
  refusal(text: string): { readonly kind: unknown; readonly code: unknown; readonly message: string }
}

interface GoogleRefusal {
  readonly status: string
  readonly message: string
  readonly details: readonly { readonly reason: string }[]
}

const question = 'Grüße, 世界?'
const forms: readonly Form[] = [
  {
    name: "Anthropic's Messages",
    provider: 'a',
    alias: 'claude',
    keyHeader: 'x-api-key',
    wire: anthropicWire,
    frames: anthropicFrames,
    path: () => '/v1/messages',
    countPath: '/v1/messages/count_tokens',
    body: (model, stream) => ({ model, stream, max_tokens: 100, messages: [{ role: 'user', content: question }] }),
    client: options => createAnthropic(options)('claude'),
    refusal(text) {
      const { type, error } = JSON.parse(text) as {
        type: string
        error: { type: string; code: string; message: string }
      }
      expect(type).toBe('error')
      return { kind: error.type, code: error.code, message: error.message }
    },
  },
  {
    name: "Google's generateContent",
    provider: 'g',
    alias: 'gemini',
    keyHeader: 'x-goog-api-key',
    wire: geminiWire,
    frames: geminiFrames,
    path: (model, streams) =>
      `/v1beta/models/${model}:${streams ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    countPath: '/v1beta/models/gemini:countTokens',
    body: () => ({ contents: [{ role: 'user', parts: [{ text: question }] }] }),
    client: ({ baseURL, apiKey }) => createGoogle({ baseURL: baseURL.replace(/v1$/, 'v1beta'), apiKey })('gemini'),
    refusal(text) {
      const { error } = JSON.parse(text) as { error: GoogleRefusal }
      return { kind: error.status, code: error.details[0]?.reason, message: error.message }
    },
  },
]

const weather = tool({
  inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
  execute: async ({ city }) => `cold in ${city}`,
})

const says =
  (form: Form, reply: ModelReply): Behaviour =>
  (request, response) =>
    form.wire.write(reply, request, response)

const refuses =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (_, response) => {
    const error = { type: 'x', status: 'X', message: `no: ${providerKey} and sk-****abcdefgh` }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify({ type: 'error', error }))
  }

const send = (path: string, body: object | undefined, headers: Record<string, string> = {}) =>
  fetch(gateway.test.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${gateway.aiKey}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const ask = (form: Form, streams: boolean, model = form.alias) =>
  send(form.path(model, streams), form.body(model, streams))

/** Reads the ledger row of the request that a response answers. */
const booked = (answer: Response) =>
  until('the request is booked', async () => {
    const rows = await gateway.requests()
    return rows.find(({ id, outcome }) => id === answer.headers.get('x-request-id') && outcome !== 'open')
  })

describe.each(forms)('$name', form => {
  it("answers the ai library, whole and streamed, with calls, in the provider's own bytes", async () => {
    const call = { name: 'weather', args: { city: 'Öslo' } }
    const reply: ModelReply = { text: 'Let me look, 世界.', calls: [call] }
    const client = form.client({ baseURL: `${gateway.test.url}/v1`, apiKey: gateway.aiKey })
    const prompted = { model: client, prompt: question, tools: { weather }, maxRetries: 0 } as const
    upstream.next(says(form, reply))
    const { text, toolCalls } = await generateText(prompted)
    expect([text, toolCalls.map(({ input }) => input)]).toEqual([reply.text, [call.args]])
    const streamed = streamText(prompted)
    expect((await Array.fromAsync(streamed.textStream)).join('')).toBe(reply.text)
    expect((await streamed.toolCalls).map(({ input }) => input)).toEqual([call.args])
    const [whole, stream] = upstream.requests.slice(-2)
    for (const request of [whole, stream]) {
      expect(request?.headers[form.keyHeader]).toBe(providerKey)
      expect(JSON.stringify([request?.headers, request?.path])).not.toContain(gateway.aiKey)
      expect(`${request?.path} ${JSON.stringify(request?.body)}`).toMatch(/"model":"m1"|\/models\/m1:/)
    }
  })

  it.each([false, true])('passes bytes on and books their cost, streamed: %s', async streams => {
    upstream.next(says(form, { text: 'hello' }))
    const answer = await ask(form, streams)
    const text = await answer.text()
    const frames = form.frames({ text: 'hello' }).join('').replaceAll('"scripted"', `"${form.alias}"`)
    if (streams) expect(text).toBe(form.provider === 'a' ? frames : form.frames({ text: 'hello' }).join(''))
    expect(answer.headers.get('content-type')).toMatch(streams ? /^text\/event-stream/ : /^application\/json/)
    const cached = form.provider === 'a' ? 40 : 0
    expect(await booked(answer)).toMatchObject({
      wire: form.provider === 'a' ? 'messages' : 'generate',
      provider: form.provider,
      model: `${form.provider}/m1`,
      outcome: 'completed',
      input_tokens: 100,
      cached_input_tokens: cached,
      output_tokens: 10,
      cost_usd: String(((100 - cached) * 1 + cached * 0.5 + 10 * 10) / 1e6),
    })
    const sent = upstream.requests.at(-1)
    expect(sent?.body).toEqual(form.body('m1', streams))
  })

  it.each([
    [400, 400, 'upstream_request_refused', 'invalid_request_error', 'INVALID_ARGUMENT'],
    [401, 502, 'upstream_credential_refused', 'api_error', 'INTERNAL'],
    [404, 404, 'model_not_found', 'not_found_error', 'NOT_FOUND'],
    [413, 413, 'request_entity_too_large', 'request_too_large', 'INVALID_ARGUMENT'],
    [429, 429, 'upstream_rate_limited', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
    [500, 502, 'upstream_failed', 'api_error', 'INTERNAL'],
    [529, 503, 'upstream_overloaded', 'overloaded_error', 'UNAVAILABLE'],
  ])('reports a %i of the provider as %i %s and does not reveal the key', async (sent, status, code, ...kinds) => {
    upstream.next(refuses(sent, { 'retry-after': '7' }))
    const answer = await ask(form, sent % 2 === 0)
    const text = await answer.text()
    const { kind, code: errorCode } = form.refusal(text)
    expect([answer.status, errorCode, kind]).toEqual([status, code, kinds[form.provider === 'a' ? 0 : 1]])
    expect(text).not.toMatch(/abcdefgh|provider-secret/)
    if (sent === 429) expect(answer.headers.get('retry-after')).toBe('7')
    expect(await booked(answer)).toMatchObject({ outcome: 'failed', error_code: code })
  })

  it.each(['cut', 'end', 'silence'] as const)('never ends a stream normally that broke by %s', async then => {
    upstream.next(sends(form.frames({ text: 'hello there' }).slice(0, form.provider === 'a' ? 4 : 1), then))
    const answer = await ask(form, true)
    const { text, whole } = await readAll(answer)
    const last =
      text
        .trimEnd()
        .split(/\r?\n\r?\n/)
        .at(-1) ?? ''
    const code = then === 'silence' ? 'upstream_timeout' : 'upstream_cut'
    expect(form.refusal(last.replace(/^(?:event: error\n)?data: /, '')).code).toBe(code)
    expect(text).not.toContain('message_stop')
    // Google's format has no end marker but the end of the connection.
    expect(whole).toBe(form.provider === 'a')
    expect(await booked(answer)).toMatchObject({ outcome: 'failed', error_code: code, cost_usd: null })
  })

  it("reports a provider's error within a stream in our words, and ends the stream there", async () => {
    const error = { type: 'overloaded_error', code: 503, message: `no ${providerKey}` }
    const errorFrame = `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
    upstream.next(sends([...form.frames({ text: 'hello' }).slice(0, form.provider === 'a' ? 4 : 1), errorFrame]))
    const answer = await ask(form, true)
    const { text, whole } = await readAll(answer)
    expect(text.match(/"error":/g)).toHaveLength(1)
    expect(text).not.toContain(providerKey)
    expect(whole).toBe(form.provider === 'a')
    expect(await booked(answer)).toMatchObject({ outcome: 'failed', cost_usd: null })
  })

  it('books a stream that its client left at an unknown cost, and disconnects from its provider', async () => {
    const before = upstream.abandoned
    // Google reports the count so far with each part.
    const soFar = '"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":1},"modelVersion"'
    const frames = form.frames({ text: 'hello there' }).map(frame => frame.replace('"modelVersion"', soFar))
    upstream.next(sends(frames.slice(0, form.provider === 'a' ? 4 : 1), 'silence'))
    const leaving = new AbortController()
    const answer = await fetch(gateway.test.url + form.path(form.alias, true), {
      method: 'POST',
      headers: { [form.keyHeader]: gateway.aiKey, 'content-type': 'application/json' },
      body: JSON.stringify(form.body(form.alias, true)),
      signal: leaving.signal,
    })
    await answer.body?.getReader().read()
    leaving.abort()
    await until('the provider is left', () => upstream.abandoned > before)
    expect(await booked(answer)).toMatchObject({ outcome: 'left', input_tokens: 100, output_tokens: 1, cost_usd: null })
  })

  it("refuses a model of another kind and lists the caller's models that it serves", async () => {
    const { organizationId } = gateway.test.tenant
    const missing = await ask(form, false, 'a/none')
    expect([missing.status, form.refusal(await missing.text()).code]).toEqual([404, 'model_not_found'])
    const refused = await ask(form, true, 'main/m1')
    const { code, message } = form.refusal(await refused.text())
    expect([refused.status, code]).toEqual([400, 'invalid_request'])
    const other = form.provider === 'a' ? 'g' : 'a'
    expect(message).toContain(`'${form.provider}/m1', '${form.provider}/m2', '${form.alias}'`)
    expect(message).not.toContain(`${other}/m1`)
    const { db } = gateway.test
    await db.database.query('insert into organization_limits (organization_id, models) values ($1, array[$2, $3])', [
      organizationId,
      `${form.provider}/m2`,
      'main/m1',
    ])
    const narrowed = form.refusal(await (await ask(form, true, 'main/m1')).text())
    expect(narrowed.message).toContain(`'${form.provider}/m2', 'safe-${form.alias}'.`)
    await db.database.query('delete from organization_limits')
  })

  it('falls back only to models that speak the same format', async () => {
    gateway.upstream.next(() => expect.unreachable())
    upstream.next(refuses(500), says(form, { text: 'from the other' }))
    const answer = await ask(form, true, `safe-${form.alias}`)
    expect((await answer.text()).replace(/other/, '')).toContain('from t')
    expect(await booked(answer)).toMatchObject({ outcome: 'completed', model: `${form.provider}/m1` })
  })

  it('takes the key from its own header or the bearer, and from no other place', async () => {
    upstream.next(says(form, { text: 'hello' }))
    const json = { 'content-type': 'application/json' }
    const path = form.path(form.alias, false)
    const otherHeader = form.provider === 'a' ? 'x-goog-api-key' : 'x-api-key'
    const { aiKey } = await createAiKey(gateway.test.db.database, gateway.test.tenant)
    const prompted = async (headers: Record<string, string>, query = '') => {
      const init = {
        method: 'POST',
        headers: { ...json, ...headers },
        body: JSON.stringify(form.body(form.alias, false)),
      }
      const answer = await fetch(gateway.test.url + path + query, init)
      const text = await answer.text()
      return answer.status === 200 ? 200 : `${answer.status} ${form.refusal(text).code}`
    }
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
    expect(await prompted({ [form.keyHeader]: gateway.aiKey })).toBe(200)
    expect(await prompted({ ...bearer(gateway.aiKey), [form.keyHeader]: gateway.aiKey })).toBe(200)
    const invalid = '401 invalid_or_expired_credential'
    expect(await prompted({ ...bearer(gateway.aiKey), [form.keyHeader]: aiKey })).toBe(invalid)
    expect(await prompted({ [form.keyHeader]: gateway.test.tenant.apiKey })).toBe(invalid)
    const nobody = '401 bearer_credential_required'
    expect(await prompted({ [otherHeader]: gateway.aiKey })).toBe(nobody)
    expect(await prompted({}, `?key=${gateway.aiKey}`)).toBe(nobody)
    expect(await prompted(bearer(gateway.aiKey), '?key=x')).toBe('400 invalid_request')
    const chat = { method: 'POST', headers: { ...json, [form.keyHeader]: gateway.aiKey }, body: '{}' }
    expect((await fetch(`${gateway.test.url}/v1/chat/completions`, chat)).status).toBe(401)
  })

  it('passes on numbers that JavaScript cannot hold, in requests and whole answers', async () => {
    const numbers = '{"id":1234567890123456789,"list":[1.0,-1e400]}'
    upstream.next((_, response) => void response.end(`{"content":[],"candidates":[],"usage":${numbers}}`))
    const prompted = JSON.stringify(form.body(form.alias, false)).replace(JSON.stringify(question), `[${numbers}]`)
    for (const path of [form.path(form.alias, false), form.countPath]) {
      expect(await (await gateway.call(path, prompted)).text()).toContain(numbers)
      expect(upstream.requests.at(-1)?.text).toContain(numbers)
    }
  })

  it('counts tokens without booking them', async () => {
    upstream.next((_, response) => void response.end('{"input_tokens":7}'))
    const answer = await send(form.countPath, form.body(form.alias, false))
    expect([answer.status, await answer.text()]).toEqual([200, '{"input_tokens":7}'])
    const place = form.provider === 'a' ? '/v1/messages/count_tokens' : '/v1beta/models/m1:countTokens'
    expect(upstream.requests.at(-1)).toMatchObject({ path: place, body: form.body('m1', false) })
    upstream.next(refuses(429))
    expect((await send(form.countPath, form.body(form.alias, false))).status).toBe(429)
    const unknown = await send(form.countPath.replace('gemini', 'nope'), form.body('nope', false))
    expect(form.refusal(await unknown.text()).code).toBe('model_not_found')
    upstream.next(says(form, { text: 'hello' }))
    await booked(await ask(form, false))
    const counted = answer.headers.get('x-request-id')
    expect((await gateway.requests()).map(({ id }) => id)).not.toContain(counted)
  })

  it('refuses an invalid request in its own format', async () => {
    const path = form.path(form.alias, true)
    const cases = [
      [send(path, {}), 400, 'invalid_request'],
      [send(path, { ...form.body(form.alias, true), messages: 1, contents: 1 }), 400, 'invalid_request'],
      [send(`${path}${path.includes('?') ? '&' : '?'}x=1`, form.body(form.alias, true)), 400, 'invalid_request'],
      [send(path, undefined), 405, 'method_not_allowed'],
      [send(path, form.body(form.alias, true), { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
    ] as const
    for (const [prompted, status, code] of cases) {
      const answer = await prompted
      expect([answer.status, form.refusal(await answer.text()).code]).toEqual([status, code])
    }
  })
})

describe("Anthropic's Messages alone", () => {
  const [form] = forms as readonly [Form]
  const body = form.body('claude', false)

  it('passes on the beta headers and no other header or parameter', async () => {
    upstream.next(says(form, { text: 'hello' }))
    const betas = { 'anthropic-beta': 'one-2025-01-01,two-2025-01-02', 'anthropic-version': '2024-01-01' }
    await send('/v1/messages?beta=true', body, { ...betas, 'anthropic-secret': 'x', cookie: 'y=1' })
    const sent = upstream.requests.at(-1)
    expect(sent).toMatchObject({ path: '/v1/messages?beta=true', headers: betas })
    expect(sent?.headers).not.toHaveProperty('anthropic-secret')
    expect(sent?.headers).not.toHaveProperty('cookie')
    await send('/v1/messages', body)
    expect(upstream.requests.at(-1)).toMatchObject({
      path: '/v1/messages',
      headers: { 'anthropic-version': '2023-06-01' },
    })
    expect((await send('/v1/messages', body, { 'anthropic-version': 'x y' })).status).toBe(400)
  })

  it('counts tokens written to a cache as input, from the last report', async () => {
    const usage = { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: 20, output_tokens: 1 }
    const last = { output_tokens: 50, output_tokens_details: { thinking_tokens: 40 }, cache_read_input_tokens: 21 }
    upstream.next(
      sends([
        `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { model: 'm1', usage } })}\n\n`,
        `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: {}, usage: last })}\n\n`,
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ]),
    )
    const answer = await ask(form, true)
    expect(await answer.text()).toContain('"model":"claude"')
    expect(await booked(answer)).toMatchObject({
      input_tokens: 56,
      cached_input_tokens: 21,
      cache_write_tokens: 30,
      output_tokens: 50,
      reasoning_tokens: 40,
    })
  })
})

describe("Google's generateContent alone", () => {
  const [, form] = forms as readonly [Form, Form]
  const body = form.body('', false)

  it.each(['g/m1', 'g%2Fm1', 'g%2fm1'])('knows the model %s', async model => {
    upstream.next(says(form, { text: 'hello' }))
    expect((await ask(form, true, model)).status).toBe(200)
    expect(upstream.requests.at(-1)?.path).toBe('/v1beta/models/m1:streamGenerateContent?alt=sse')
  })

  it('serves only its own paths', async () => {
    const status = async (path: string) => (await send(path, body)).status
    upstream.next(says(form, { text: 'hello' }))
    expect(await status('/v1beta/models/g/m1:generateContent')).toBe(200)
    for (const path of ['/v1beta', '/v1beta/nope', '/v1beta/nope:generateContent']) {
      expect([path, await status(path)]).toEqual([path, 404])
    }
    // A model's own path can only be read.
    for (const path of ['/v1beta/models', '/v1beta/models/g/m1', '/v1beta/models/g/m1:nope']) {
      expect([path, await status(path)]).toEqual([path, 405])
    }
    expect(await status('/v1beta/models/..%2f..%2fv1:generateContent')).toBe(404)
    expect(await status('/v1beta/models/gemini:streamGenerateContent')).toBe(400)
    expect((await fetch(`${gateway.test.url}/v1beta/nope`)).status).toBe(401)
  })

  it('counts thoughts as output, and takes a refused prompt for a complete answer', async () => {
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
    }
    const frame = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata }
    upstream.next(sends([`data: ${JSON.stringify(frame)}\r\n\r\n`]))
    const answer = await ask(form, true)
    expect(await readAll(answer)).toMatchObject({ whole: true })
    expect(await booked(answer)).toMatchObject({
      outcome: 'completed',
      input_tokens: 15,
      cached_input_tokens: 4,
      output_tokens: 5,
      reasoning_tokens: 2,
    })
  })

  it('names the model in the body only as its provider knows it', async () => {
    upstream.next(says(form, { text: 'hello' }))
    await send('/v1beta/models/gemini:generateContent', { ...body, model: 'models/other' })
    expect(upstream.requests.at(-1)?.body).toMatchObject({ model: 'models/m1' })
    const whole = { generateContentRequest: { ...body, model: 'models/gemini' } }
    await send('/v1beta/models/gemini:countTokens', whole)
    expect(upstream.requests.at(-1)?.body).toEqual({ generateContentRequest: { ...body, model: 'models/m1' } })
    const cached = await send('/v1beta/models/gemini:generateContent', { ...body, cachedContent: 'cachedContents/x' })
    expect([cached.status, form.refusal(await cached.text()).code]).toEqual([400, 'invalid_request'])
  })

  it('takes a bad request for a refused key if the provider says so', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    upstream.next(
      (_, response) => void response.writeHead(400).end(JSON.stringify({ error: { message: 'x', details } })),
    )
    const answer = await ask(form, false)
    expect([answer.status, form.refusal(await answer.text()).code]).toEqual([502, 'upstream_credential_refused'])
  })
})

it('models list the formats in which their own provider serves them', async () => {
  const { data } = (await (await send('/v1/models', undefined)).json()) as {
    data: { id: string; native_wires: string[] }[]
  }
  const wires = Object.fromEntries(data.map(model => [model.id, model.native_wires]))
  expect([wires['a/m1'], wires['g/m1'], wires['main/m1']]).toEqual([['messages'], ['generate'], ['chat', 'responses']])
  // What a fallback does not speak too would keep it from answering.
  expect([wires['claude'], wires['safe-claude']]).toEqual([['messages'], []])
})

/** Reads a body, and tells whether it reached its end. */
async function readAll(answer: Response): Promise<{ text: string; whole: boolean }> {
  let text = ''
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
    return { text, whole: true }
  } catch {
    return { text, whole: false }
  }
}
