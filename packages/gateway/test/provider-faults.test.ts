import { connect } from 'node:net'
import { framesOf } from '@berth/testing/models/openai-wire.ts'
import { type Behaviour, refuses, says, sends, streamsUntil } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, providerKey, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

let gateway: GatewayService
/** For what ends by its bounds alone: they are shorter than a busy machine may need for an answer. */
let impatient: GatewayService
beforeAll(async () => {
  // bound: the longest pause that a provider may ask for
  const fixed = { gatewayRetries: 1, gatewayRetryWaitMs: 1000 }
  gateway = await startGatewayService({
    fixed,
    // Nobody listens there.
    providers: [{ id: 'gone', kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', models: [{ id: 'm1' }] }],
    models: { aliases: { safe: 'main/plain' }, fallbacks: { safe: ['gone/m1', 'spare/m1'] } },
  })
  impatient = await startGatewayService({
    fixed: {
      ...fixed,
      gatewayFirstByteMs: 3000,
      gatewayIdleMs: 3000,
      gatewayTotalMs: 6000,
      // bound: it is to be over
      gatewayClientPatienceMs: 1000,
    },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await impatient[Symbol.asyncDispose]()
})

const body = (wire: 'chat' | 'responses', stream: boolean, model = 'main/m1') =>
  wire === 'chat' ? { model, stream, messages: [{ role: 'user', content: 'a' }] } : { model, stream, input: 'a' }
const pathOf = { chat: '/v1/chat/completions', responses: '/v1/responses' } as const

async function ask(behaviour: Behaviour, wire: 'chat' | 'responses' = 'chat', stream = false, at = gateway) {
  at.upstream.next(behaviour)
  const answer = await at.call(pathOf[wire], body(wire, stream))
  const text = await answer.text()
  expect(text).not.toContain(providerKey)
  return { status: answer.status, text, headers: answer.headers }
}

const codeIn = (text: string): unknown => (JSON.parse(text) as { error: { code: string } }).error.code

describe('a refusal of the provider', () => {
  const cases: readonly (readonly [number, number, string])[] = [
    [400, 400, 'upstream_request_refused'],
    [401, 502, 'upstream_credential_refused'],
    [403, 502, 'upstream_credential_refused'],
    [404, 404, 'model_not_found'],
    [408, 504, 'upstream_timeout'],
    [413, 413, 'request_entity_too_large'],
    [422, 400, 'upstream_request_refused'],
    [429, 429, 'upstream_rate_limited'],
    [500, 502, 'upstream_failed'],
    [529, 503, 'upstream_overloaded'],
  ]

  it.each(cases)('%i is answered as %i %s and does not reveal the key', async (sent, status, code) => {
    const message = `bad key ${providerKey} and sk-****abcdefgh`
    for (const stream of [false, true]) {
      const answer = await ask(refuses(sent, message, { 'retry-after': '7' }), 'responses', stream)
      expect([answer.status, codeIn(answer.text)]).toEqual([status, code])
      expect(answer.text).not.toContain('abcdefgh')
      if (sent === 429) expect(answer.headers.get('retry-after')).toBe('7')
      expect(answer.headers.get('x-should-retry')).toBe(code === 'upstream_credential_refused' ? 'false' : null)
    }
  })

  it('tells the wait until a date by the clock of the provider, which may be an hour off', async () => {
    const at = (seconds: number) => new Date(Date.parse('2026-03-01T12:00:00Z') + seconds * 1000).toUTCString()
    for (const wire of ['chat', 'responses'] as const) {
      const answer = await ask(refuses(429, 'slow down', { date: at(0), 'retry-after': at(90) }), wire, false)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '90'])
    }
  })

  it('is retried after the requested wait if that is short, without writing the request again', async () => {
    const requestText = JSON.stringify(body('chat', false))
    using writes = vi.spyOn(JSON, 'stringify')
    gateway.upstream.next(refuses(429, 'slow down', { 'retry-after': '0' }), says({ text: 'hello' }))
    const answer = await gateway.call(pathOf.chat, requestText)
    expect(answer.status).toBe(200)
    expect(writes.mock.calls.filter(([value]) => value?.messages !== undefined)).toHaveLength(1)
  })
})

describe('an unusable answer', () => {
  const html: Behaviour = (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>') as never
  const silence: Behaviour = () => {}
  const drop: Behaviour = (_, response) => response.destroy() as never

  it.each([
    ['HTML', html, 502, 'upstream_invalid_response'],
    ['silence', silence, 504, 'upstream_timeout'],
    ['a connection that closes', drop, 502, 'upstream_cut'],
    ['half a document', sends(['{"choices":['], 'cut'), 502, 'upstream_cut'],
  ] as const)('%s is told before the first byte', async (_, behaviour, status, code) => {
    const answer = await ask(behaviour, 'chat', false, behaviour === silence ? impatient : gateway)
    expect([answer.status, codeIn(answer.text)]).toEqual([status, code])
  })

  it('that never comes is reported', async () => {
    const answer = await gateway.call(pathOf.chat, body('chat', false, 'gone/m1'))
    expect([answer.status, codeIn(await answer.text())]).toEqual([502, 'upstream_unreachable'])
  })
})

it('a streamed response keeps numbers that JavaScript cannot hold', async () => {
  const lastFrame = 'data: {"type":"response.completed","response":{"output":[],"max":1234567890123456789}}\n\n'
  expect((await ask(sends([lastFrame]), 'responses', true)).text).toContain('"max":1234567890123456789,')
})

describe('a stream that breaks', () => {
  const reply = { text: 'hello there' }
  const heard = (then: 'cut' | 'silence' | 'end') => (then === 'silence' ? impatient : gateway)

  it.each(['cut', 'silence', 'end'] as const)('by %s is never a normal end in Chat Completions', async then => {
    const answer = await ask(streamsUntil(reply, 2, then), 'chat', true, heard(then))
    const frames = answer.text.trimEnd().split('\n\n')
    expect(frames).toHaveLength(3)
    const code = then === 'silence' ? 'upstream_timeout' : 'upstream_cut'
    expect(codeIn(frames.at(-1)?.slice('data: '.length) ?? '')).toBe(code)
    expect(answer.text).not.toContain('[DONE]')
  })

  it.each(['cut', 'silence', 'end'] as const)('by %s ends with response.failed in Responses', async then => {
    const scripted = streamsUntil({ ...reply, calls: [{ name: 'a', args: {} }] }, 11, then)
    const answer = await ask(scripted, 'responses', true, heard(then))
    const frames = answer.text
      .trimEnd()
      .split('\n\n')
      .map(frame => JSON.parse(frame.replace(/^event: .*\ndata: /, '')))
    expect(frames.map(({ sequence_number }) => sequence_number)).toEqual(frames.map((_, index) => index))
    expect(frames.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        id: 'resp_scripted',
        status: 'failed',
        model: 'main/m1',
        output_text: 'hello there',
        error: { code: then === 'silence' ? 'upstream_timeout' : 'upstream_cut' },
      },
    })
  })

  it('in the middle of an event is cut before it', async () => {
    const answer = await ask(sends(['data: {"choices":[]}\n\ndata: {"cho'], 'cut'), 'chat', true)
    expect(answer.text.split('\n\n')[0]).toBe('data: {"choices":[]}')
    expect(answer.text).not.toContain('data: {"cho\n')
    expect(answer.text).toContain('upstream_cut')
  })

  it('with an error of its own is reported in our words', async () => {
    const lastFrame = `data: {"error":{"message":"no ${providerKey}"}}\n\n`
    const answer = await ask(sends(['data: {"choices":[]}\n\n', lastFrame]), 'chat', true)
    expect(answer.text.match(/"error"/g)).toHaveLength(1)
    expect(answer.text).not.toContain('[DONE]')
  })

  it.each([
    ['chat', { error: { message: `no ${providerKey}`, code: 429 } }, 429, 'upstream_rate_limited'],
    ['chat', { error: 'no' }, 502, 'upstream_failed'],
    ['responses', { type: 'error', sequence_number: 0, message: 'no', code: 'server_error' }, 502, 'upstream_failed'],
    ['chat', { error: { message: 'no', code: 'invalid_api_key' } }, 502, 'upstream_credential_refused'],
    ['responses', { type: 'error', message: 'no', code: 'invalid_api_key' }, 502, 'upstream_credential_refused'],
  ] as const)('before it has begun, in %s, is a status: %j', async (wire, lastFrame, status, code) => {
    const answer = await ask(sends([`data: ${JSON.stringify(lastFrame)}\n\n`]), wire, true)
    expect([answer.status, codeIn(answer.text)]).toEqual([status, code])
  })

  it('never ends is ended', async () => {
    const endless: Behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write('data: {"choices":[]}\n\n'), 100)
      response.once('close', () => clearInterval(timer))
    }
    const answer = await ask(endless, 'chat', true, impatient)
    expect(answer.text).toContain('upstream_timeout')
  })
})

it('does not replay a signature to a provider that cannot use it', async () => {
  gateway.upstream.next(says({ text: 'ok' }))
  const called = (extra_content: object) => ({
    id: 'a',
    type: 'function',
    function: { name: 'f', arguments: '{}' },
    extra_content,
  })
  const own = { google: { thought_signature: 'of-google' } }
  const sealed = { google: { thought_signature: 'berth.1.AAAA' } }
  const messages = [
    { role: 'assistant', tool_calls: [called(sealed), called(own)], extra_content: sealed },
    { role: 'tool', tool_call_id: 'a', content: 'b' },
  ]
  await gateway.call(pathOf.chat, { ...body('chat', false), messages })
  const sent = gateway.upstream.requests.at(-1)?.body as { messages: { tool_calls: object[] }[] }
  const [first, second] = sent.messages[0]?.tool_calls ?? []
  expect(first).not.toHaveProperty('extra_content')
  expect(second).toEqual(called(own))
  expect(sent.messages[0]).not.toHaveProperty('extra_content')
})

describe('a fallback', () => {
  it('takes over before the first byte, under the requested model name', async () => {
    gateway.upstream.next(refuses(500))
    gateway.spare.next(says({ text: 'from the spare' }))
    for (const stream of [false, true]) {
      const answer = await gateway.call(pathOf.responses, body('responses', stream, 'safe'))
      const text = await answer.text()
      expect([answer.status, text.includes('from the spare'), text.includes('"model":"safe"')]).toEqual([
        200,
        true,
        true,
      ])
    }
    // A key's request is answered before its row is written.
    const served = await until('both rows', async () => {
      const rows = (await gateway.requests()).filter(row => row['provider'] === 'spare')
      return rows.length === 2 && rows
    })
    const row = { model: 'spare/m1', outcome: 'completed' }
    expect(served).toMatchObject([row, row])
  })

  it('replaces a provider that refuses the key, which is asked once', async () => {
    const before = gateway.upstream.requests.length
    gateway.upstream.next(refuses(401))
    gateway.spare.next(says({ text: 'from the spare' }))
    const answer = await gateway.call(pathOf.chat, body('chat', true, 'safe'))
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/from th.*e spare/s)])
    expect(gateway.upstream.requests).toHaveLength(before + 1)
  })

  it('is not used for a request that is wrong in itself', async () => {
    gateway.upstream.next(refuses(400))
    const answer = await gateway.call(pathOf.chat, body('chat', false, 'safe'))
    expect([answer.status, codeIn(await answer.text())]).toEqual([400, 'upstream_request_refused'])
  })
})

describe('a client that stops reading', () => {
  it('slows its provider down and is disconnected', async () => {
    let written = 0
    const flood: Behaviour = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const frame = `data: {"choices":[],"a":"${'x'.repeat(65_536)}"}\n\n`
      const pump = () => {
        while (!response.destroyed && response.write(frame)) written += frame.length
      }
      response.on('drain', pump)
      pump()
    }
    impatient.upstream.next(flood)
    const before = impatient.upstream.abandoned
    const { hostname, port } = new URL(impatient.test.url)
    const text = JSON.stringify(body('chat', true))
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST ${pathOf.chat} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${impatient.aiKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    )
    socket.on('error', () => {})
    await until('the provider is let go of', () => impatient.upstream.abandoned > before)
    expect(written).toBeLessThan(64 * 1024 ** 2)
    socket.destroy()
  })
})

describe('a service that stops', () => {
  it('lets an open stream finish and accounts it', async () => {
    await using stopping = await startGatewayService()
    const goOn = Promise.withResolvers<void>()
    stopping.upstream.next(async (request, response) => {
      const frames = framesOf({ text: 'hello there' }, request)
      await sends(frames.slice(0, 2), 'silence')(request, response)
      await goOn.promise
      response.end(frames.slice(2).join(''))
    })
    const answer = await stopping.call(pathOf.chat, body('chat', true))
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader?.read())?.value ?? ''
    const closed = stopping.test.service.close()
    await until('the stop', () =>
      fetch(stopping.test.url).then(
        ({ status }) => status === 503,
        () => true,
      ),
    )
    goOn.resolve()
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
    await closed
    expect(text).toMatch(/data: \[DONE\]\n\n$/)
    expect(await stopping.requests()).toMatchObject([{ outcome: 'completed', output_tokens: expect.any(Number) }])
  })
})
