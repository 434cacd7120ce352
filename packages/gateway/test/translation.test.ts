import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { anthropicFrames, anthropicTranscript, anthropicWire } from '@berth/testing/models/anthropic-wire.ts'
import { geminiTranscript, geminiWire } from '@berth/testing/models/gemini-wire.ts'
import { type ModelReply, type ModelServer, startModelServer } from '@berth/testing/models/model-server.ts'
import { checkChatStream, checkResource, checkResponsesStream } from '@berth/testing/models/openai-stream.ts'
import { openaiWire } from '@berth/testing/models/openai-wire.ts'
import { type ScriptedUpstream, says, sends, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import type OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The service with a provider of each kind. None speaks Responses, and the test chooses every byte of one. */
let service: GatewayService
let baseURL: string
let apiKey: string
let anthropic: ModelServer
let google: ModelServer
let compatible: ModelServer
let raw: ScriptedUpstream
let client: OpenAI

beforeAll(async () => {
  anthropic = await startModelServer(anthropicWire)
  google = await startModelServer(geminiWire)
  compatible = await startModelServer(openaiWire)
  raw = await startScriptedUpstream()
  const provider = (id: string, kind: string, baseUrl: string, model: string) => ({
    id,
    kind,
    baseUrl,
    apiKey: 'sk-scripted-0123456789',
    models: [{ id: model, reasoning: true, outputTokens: 8192, price: { input: 1, cachedInput: 0.5, output: 10 } }],
  })
  service = await startGatewayService({
    providers: [
      provider('a', 'anthropic', `${anthropic.origin}/v1`, 'claude-sonnet-4-5'),
      provider('g', 'google', `${google.origin}/v1beta`, 'gemini-3-pro-preview'),
      provider('o', 'openai-compatible', `${compatible.origin}/v1`, 'qwen'),
      provider('ra', 'anthropic', raw.baseUrl, 'claude-sonnet-4-5'),
      provider('rg', 'google', raw.baseUrl, 'gemini-2.5-flash'),
      provider('ro', 'openai-compatible', raw.baseUrl, 'qwen'),
    ],
    models: {
      aliases: {
        anthropic: 'a/claude-sonnet-4-5',
        google: 'g/gemini-3-pro-preview',
        ollama: 'o/qwen',
        raw: 'ra/claude-sonnet-4-5',
        'raw-google': 'rg/gemini-2.5-flash',
        'raw-chat': 'ro/qwen',
      },
    },
  })
  baseURL = `${service.test.url}/v1`
  apiKey = service.aiKey
  client = service.openai
})

afterAll(async () => {
  for (const each of [service, anthropic, google, compatible, raw]) await each[Symbol.asyncDispose]()
})

const providers = ['anthropic', 'google', 'ollama'] as const
const serverOf = (provider: (typeof providers)[number]) => ({ anthropic, google, ollama: compatible })[provider]
const script = (provider: (typeof providers)[number], ...replies: ModelReply[]) => serverOf(provider).script(...replies)

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather = { type: 'function', name: 'weather', description: 'The weather', parameters, strict: null } as const
const chatWeather = { type: 'function', function: { name: 'weather', description: 'The weather', parameters } } as const
const calls = [
  { name: 'weather', args: { city: 'Oslo' } },
  { name: 'weather', args: { city: 'Rom' } },
]
const thinking = { text: 'Two cities, then.', signature: 'c2lnbmF0dXJl' }

const lastBooked = async () => (await service.requests()).at(-1)

async function raws(path: string, body: object): Promise<string> {
  const response = await service.call(`/v1/${path}`, { ...body, stream: true })
  expect(response.status).toBe(200)
  return response.text()
}

it("marks what Anthropic's cache is to keep, and books what was written to it and read", async () => {
  const long = 'word '.repeat(1_000)
  const frames = anthropicFrames({ text: 'ok' }).join('')
  raw.next(sends([frames.replaceAll('"input_tokens":60', '"input_tokens":10,"cache_creation_input_tokens":50')]))
  await raws('chat/completions', {
    model: 'raw',
    messages: [
      { role: 'system', content: long },
      { role: 'user', content: 'Hi' },
    ],
    tools: [chatWeather],
  })
  const mark = { cache_control: { type: 'ephemeral' } }
  const { body } = raw.requests.at(-1) ?? {}
  expect(body).toMatchObject({ system: [{ text: long, ...mark }], messages: [{ content: [{ text: 'Hi', ...mark }] }] })
  expect(JSON.stringify(body).split('cache_control')).toHaveLength(3)
  await expect.poll(lastBooked).toMatchObject({
    ...{ input_tokens: 100, cached_input_tokens: 40, cache_write_tokens: 50 },
    cost_usd: String((10 * 1 + 40 * 0.5 + 50 * 1.25 + 10 * 10) / 1e6),
  })
})

describe.each(providers)("OpenAI's library, over %s", model => {
  it('gets a response', async () => {
    script(model, { text: 'Hello there' })
    const response = await client.responses.create({
      model,
      input: 'Hi',
      instructions: 'Be kind',
      metadata: { a: 'b' },
    })
    checkResource(response as unknown as Record<string, unknown>)
    expect(response).toMatchObject({ status: 'completed', model, output_text: 'Hello there', metadata: { a: 'b' } })
    // The scripted provider of Google's format sends the text in two parts.
    expect(response.output.filter(({ type }) => type === 'message')).toMatchObject([
      { content: [{ type: 'output_text', text: 'Hello there' }] },
    ])
    expect(response.usage).toMatchObject({ input_tokens: 100, output_tokens: 10, total_tokens: 110 })
  })

  it('streams a response with parallel calls, replays it and gets the answer', async () => {
    script(model, { thinking, text: 'Let me look.', calls }, { text: 'Cold, and warm.' })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Weather in Oslo and Rome?' }]
    const stream = client.responses.stream({
      model,
      input,
      tools: [weather],
      reasoning: { effort: 'high', summary: 'auto' },
    })
    const types = new Set<string>()
    for await (const event of stream) types.add(event.type)
    const first = await stream.finalResponse()
    expect(types).toContain('response.output_text.delta')
    expect(types).toContain('response.function_call_arguments.done')
    const functionCalls = first.output.filter(item => item.type === 'function_call')
    expect(functionCalls.map(item => JSON.parse(item.arguments))).toEqual([{ city: 'Oslo' }, { city: 'Rom' }])
    expect(new Set(functionCalls.map(item => item.call_id)).size).toBe(2)
    const outputs = functionCalls.map(
      ({ call_id }) => ({ type: 'function_call_output', call_id, output: '4 degrees' }) as const,
    )
    const second = await client.responses
      .stream({
        model,
        input: [...input, ...(first.output as OpenAI.Responses.ResponseInputItem[]), ...outputs],
        tools: [weather],
        reasoning: { effort: 'high' },
      })
      .finalResponse()
    expect(second.output_text).toBe('Cold, and warm.')
    const replayed = serverOf(model).requests.at(-1)
    if (model === 'anthropic') {
      expect(anthropicTranscript(replayed)).toEqual([
        'user: text',
        'assistant: thinking text tool_use tool_use',
        'user: tool_result tool_result',
      ])
      expect(JSON.stringify(replayed?.body)).toContain(thinking.signature)
    }
    if (model === 'google') {
      expect(geminiTranscript(replayed).slice(-4)).toEqual([
        'model calls weather',
        'model calls weather',
        'user answers weather',
        'user answers weather',
      ])
      expect(JSON.stringify(replayed?.body)).toContain(`"thoughtSignature":"${thinking.signature}"`)
      expect(JSON.stringify(replayed?.body)).not.toContain('skip_thought_signature_validator')
    }
  })

  it('completes and streams a chat', async () => {
    script(model, { text: 'Hello there' }, { text: 'Looking', calls }, { calls })
    const messages = [{ role: 'user', content: 'Hi' } as const]
    const whole = await client.chat.completions.create({ model, messages })
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Hello there', refusal: null },
    })
    expect(whole.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 })
    const stream = client.chat.completions.stream({
      model,
      messages,
      tools: [chatWeather],
      stream_options: { include_usage: true },
    })
    const streamed = await stream.finalChatCompletion()
    expect(streamed.usage?.total_tokens).toBe(110)
    expect(streamed.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'Looking' } })
    const called = streamed.choices[0]?.message.tool_calls?.map(
      call => 'function' in call && JSON.parse(call.function.arguments),
    )
    expect(called).toEqual([{ city: 'Oslo' }, { city: 'Rom' }])
    const text = await raws('chat/completions', { model, messages, tools: [chatWeather] })
    expect(checkChatStream(text).calls.map(call => call.name)).toEqual(['weather', 'weather'])
  })

  it('reports the token limit', async () => {
    if (model === 'ollama') return
    script(model, { text: 'Cut', cut: true }, { text: 'Cut', cut: true })
    const response = await client.responses.create({ model, input: 'Hi', max_output_tokens: 16 })
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const text = await raws('responses', { model, input: 'Hi', max_output_tokens: 16 })
    expect(checkResponsesStream(text)['status']).toBe('incomplete')
  })
})

const aiTools = {
  weather: tool({
    inputSchema: jsonSchema<{ city: string }>(parameters as never),
    execute: ({ city }) => `cold in ${city}`,
  }),
}

describe.each(['anthropic', 'google'] as const)('the ai library, over %s', model => {
  it.each(['responses', 'chat'] as const)('runs a loop of tools in the format %s', async wire => {
    const provider = createOpenAI({ apiKey, baseURL })
    script(model, { thinking, text: 'Let me look.', calls }, { text: 'All cold.' })
    const { text, steps, usage } = await generateText({
      model: wire === 'chat' ? provider.chat(model) : provider.responses(model),
      tools: aiTools,
      prompt: 'Weather?',
      stopWhen: stepCountIs(3),
      ...(wire === 'responses' && { providerOptions: { openai: { store: false } } }),
    })
    expect(text).toBe('All cold.')
    expect(steps).toHaveLength(2)
    expect(usage.totalTokens).toBe(220)
    script(model, { thinking, text: 'Let me look.', calls }, { text: 'All cold again.' })
    const streamed = streamText({
      model: wire === 'chat' ? provider.chat(model) : provider.responses(model),
      tools: aiTools,
      prompt: 'Weather?',
      stopWhen: stepCountIs(3),
      ...(wire === 'responses' && { providerOptions: { openai: { store: false } } }),
    })
    expect(await streamed.text).toBe('All cold again.')
    if (wire === 'responses') {
      expect(JSON.stringify(serverOf(model).requests.at(-1)?.body)).toContain(thinking.signature)
    }
  })
})

describe.each(['anthropic', 'google'] as const)('a member that %s would never see', model => {
  it.each([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi', x: 1 }] }, 'messages[0].x'],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: [{ type: 'x' }] }] }, 'messages[0].content[0].type'],
    ['/v1/responses', { input: [{ role: 'user', content: 'Hi', x: 1 }] }, 'input[0].x'],
    ['/v1/responses', { input: [{ type: 'x' }] }, 'input[0].type'],
    ['/v1/responses', { input: 'Hi', x: 1 }, 'x'],
  ])('is refused by its path: %s %j', async (path, body, param) => {
    const response = await service.call(path, { model, ...body })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'invalid_request', param } }])
  })
})

describe('a chat over Anthropic', () => {
  it('returns structured answers', async () => {
    script('anthropic', { text: '{"city":"Oslo"}' })
    const { choices } = await client.chat.completions.parse({
      model: 'anthropic',
      messages: [{ role: 'user', content: 'Where?' }],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema: parameters, strict: true } },
    })
    expect(choices[0]?.message.parsed).toEqual({ city: 'Oslo' })
    expect(anthropic.requests.at(-1)?.body).toMatchObject({ output_config: { format: { type: 'json_schema' } } })
  })
})

describe('a chat over Gemini', () => {
  it("keeps the signatures of calls with a client that knows Gemini's", async () => {
    script('google', { thinking, calls }, { text: 'All cold.' })
    const provider = createOpenAICompatible({ name: 'berth', apiKey, baseURL })
    const { text } = await generateText({
      model: provider('google'),
      tools: aiTools,
      prompt: 'Weather?',
      stopWhen: stepCountIs(3),
    })
    expect(text).toBe('All cold.')
    expect(JSON.stringify(google.requests.at(-1)?.body)).toContain(`"thoughtSignature":"${thinking.signature}"`)
  })
})

describe('a failing upstream', () => {
  const whole = anthropicFrames({ text: 'Hello there, friend' })
  const ask = { model: 'raw', input: 'Hi' }

  it('in the middle of an event has failed in either format, and keeps the tokens seen so far', async () => {
    const text = whole.slice(0, 4).join('')
    raw.next(sends([text, whole[4]?.slice(0, 30) ?? ''], 'cut'))
    const response = checkResponsesStream(await raws('responses', ask))
    expect(response).toMatchObject({ status: 'failed', output_text: 'Hello ther' })
    const chat = checkChatStream(
      await raws('chat/completions', { model: 'raw', messages: [{ role: 'user', content: 'Hi' }] }),
    )
    expect(chat).toMatchObject({ content: 'Hello ther', finishReason: undefined })
    expect(chat.error).toBeDefined()
    await expect.poll(lastBooked).toMatchObject({
      outcome: 'failed',
      cost_usd: null,
      input_tokens: 100,
      cached_input_tokens: 40,
    })
  })

  it('with an end before its end has failed', async () => {
    raw.next(sends(whole.slice(0, -2)))
    expect(checkResponsesStream(await raws('responses', ask))['status']).toBe('failed')
  })

  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ id: 'c', created: 1, model: 'qwen', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`
  const candidate = `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] } }], usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2 } })}\n\n`

  it.each([
    ['raw-chat', [chunk({ role: 'assistant', content: 'Hello' })]],
    ['raw-chat', [chunk({ role: 'assistant', content: 'Hello' }), 'data: [DONE]\n\n']],
    ['raw-google', [candidate]],
  ])('with an end that looks like any other has failed (%s, %#)', async (model, frames) => {
    raw.next(sends(frames))
    const response = checkResponsesStream(await raws('responses', { model, input: 'Hi' }))
    expect(response).toMatchObject({ status: 'failed', output_text: 'Hello' })
  })

  it('before it reported its usage is booked with the usage so far', async () => {
    raw.next(sends([candidate], 'cut'))
    const response = checkResponsesStream(await raws('responses', { model: 'raw-google', input: 'Hi' }))
    expect(response['usage']).toMatchObject({ input_tokens: 7, output_tokens: 2 })
  })

  it('that reports its usage only after the finish reason is booked with it', async () => {
    const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
    const usage = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }
    raw.next(
      sends([chunk({ role: 'assistant', content: 'Hello' }), chunk({}, finish), chunk({}, usage), 'data: [DONE]\n\n']),
    )
    const response = checkResponsesStream(await raws('responses', { model: 'raw-chat', input: 'Hi' }))
    expect(response).toMatchObject({ status: 'completed', usage: { input_tokens: 3, output_tokens: 4 } })
  })

  it('with an error in its stream has failed', async () => {
    const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    raw.next(sends([...whole.slice(0, 4), error]))
    const response = checkResponsesStream(await raws('responses', ask))
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  })

  it('with characters split across chunks sends them whole', async () => {
    const bytes = Buffer.from(anthropicFrames({ text: 'é😀 naïve' }).join(''))
    raw.next(sends([...bytes].map(byte => Uint8Array.of(byte))))
    expect(checkResponsesStream(await raws('responses', ask))['output_text']).toBe('é😀 naïve')
  })

  it.each([
    [400, 'upstream_request_refused'],
    [401, 'upstream_credential_refused'],
    [429, 'upstream_rate_limited'],
    [529, 'upstream_overloaded'],
  ])('with status %i is reported by code', async (status, code) => {
    const error = JSON.stringify({ type: 'error', error: { type: 'x', message: 'says no' } })
    raw.next(
      (_, response) =>
        void response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(error),
    )
    await expect(client.responses.create(ask)).rejects.toMatchObject({ code })
    await expect(client.responses.create({ ...ask, stream: true })).rejects.toMatchObject({ code })
  })

  it("with Google's message for a refused key is reported by code", async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: 'API key not valid.', details }
    raw.next((_, response) => void response.writeHead(400).end(JSON.stringify({ error })))
    for (const stream of [false, true]) {
      const answered = client.responses.create({ ...ask, model: 'raw-google', stream })
      await expect(answered).rejects.toMatchObject({ code: 'upstream_credential_refused' })
    }
  })

  it('with HTML instead of an answer is reported by code', async () => {
    raw.next((_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
    for (const stream of [false, true]) {
      const answered = client.responses.create({ ...ask, stream })
      await expect(answered).rejects.toMatchObject({ code: 'upstream_invalid_response' })
    }
  })

  it('is disconnected when the client leaves', async () => {
    raw.next(sends(whole.slice(0, 5), 'silence'))
    const before = raw.abandoned
    const stream = await client.responses.create({ ...ask, stream: true })
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
    await expect.poll(() => raw.abandoned).toBe(before + 1)
    await expect.poll(lastBooked).toMatchObject({ outcome: 'left', cost_usd: null, input_tokens: 100 })
  })
})

describe('a conversation that continues with another provider', () => {
  it('drops the reasoning of a translated model', async () => {
    script('anthropic', { thinking, text: 'Hello' })
    const { output } = await client.responses.create({ model: 'anthropic', input: 'Hi', reasoning: { effort: 'low' } })
    expect(output.map(item => item.type)).toEqual(['reasoning', 'message'])
    service.upstream.next(says({ text: 'Go on' }))
    const items = output as OpenAI.Responses.ResponseInputItem[]
    const { output_text } = await client.responses.create({
      model: 'main/m1',
      input: [...items, { role: 'user', content: 'And?' }],
    })
    expect(output_text).toBe('Go on')
    expect(service.upstream.requests.at(-1)?.body).toMatchObject({ input: [{ type: 'message' }, { role: 'user' }] })
  })
})
