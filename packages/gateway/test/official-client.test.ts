import { drips, says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, providerKey, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let gateway: GatewayService
beforeAll(async () => {
  gateway = await startGatewayService()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const text = 'Grüße, 世界 👋, "usage" [DONE]'
const calls = [
  { name: 'read', args: { path: 'ä.txt' } },
  { name: 'write', args: { path: 'b' } },
]
const tools = calls.map(({ name }) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  strict: false,
}))
const chatTools = tools.map(({ name, parameters }) => ({ type: 'function' as const, function: { name, parameters } }))

describe('the official library over Responses', () => {
  it('gets an answer with its text, under the requested model name', async () => {
    gateway.upstream.next(says({ text }))
    const response = await gateway.openai.responses.create({ model: 'fast', input: 'a', metadata: { a: 'b' } })
    expect([response.output_text, response.model, response.status]).toEqual([text, 'fast', 'completed'])
    const sent = gateway.upstream.requests.at(-1)
    expect(sent?.body).toEqual({ model: 'm1', input: 'a', metadata: { a: 'b' } })
    expect(sent?.headers.authorization).toBe(`Bearer ${providerKey}`)
  })

  it('follows a stream that is cut anywhere', async () => {
    gateway.upstream.next(drips({ text, calls }))
    const stream = gateway.openai.responses.stream({ model: 'main/m1', input: 'a', tools })
    const seen: string[] = []
    for await (const event of stream) if (event.type === 'response.output_text.delta') seen.push(event.delta)
    const final = await stream.finalResponse()
    expect(seen.join('')).toBe(text)
    expect([final.output_text, final.model]).toEqual([text, 'main/m1'])
    expect(final.output.filter(item => item.type === 'function_call').map(item => item.arguments)).toEqual(
      calls.map(({ args }) => JSON.stringify(args)),
    )
  })
})

describe('the official library over Chat Completions', () => {
  it('follows a stream that is cut anywhere, with usage only if requested', async () => {
    for (const include_usage of [true, false]) {
      gateway.upstream.next(drips({ text, calls }))
      const stream = await gateway.openai.chat.completions.create({
        model: 'main/m1',
        messages: [{ role: 'user', content: 'a' }],
        tools: chatTools,
        stream: true,
        ...(include_usage && { stream_options: { include_usage } }),
      })
      let received = ''
      let usage = 0
      const indices = new Set<number>()
      for await (const chunk of stream) {
        received += chunk.choices[0]?.delta.content ?? ''
        for (const call of chunk.choices[0]?.delta.tool_calls ?? []) indices.add(call.index)
        if (chunk.usage) usage += 1
      }
      expect([received, [...indices], usage]).toEqual([text, [0, 1], include_usage ? 1 : 0])
      expect(gateway.upstream.requests.at(-1)?.body).toMatchObject({ stream_options: { include_usage: true } })
    }
  })
})

describe('the gateway', () => {
  it('passes a request on as it is, except for the model', async () => {
    gateway.upstream.next(says({ text }))
    const sent = '{ "stream":true,\n "input" : "caf\\u00e9 \\"model\\":1", "model":"main/m1", "temperature": 1.0}'
    const answer = await gateway.call('/v1/responses', sent)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const raw = await answer.text()
    expect(raw).not.toMatch(/^data: \[DONE\]$/m)
    expect(raw.match(/^event: response\.completed$/gm)).toHaveLength(1)
    expect(gateway.upstream.requests.at(-1)?.body).toEqual({ ...JSON.parse(sent), model: 'm1' })
  })

  it.each([
    [
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'a', x: 1 }, { type: 'new_part' }], x: 1 },
          { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'new_call', x: 1 }] },
        ],
        tools: [{ type: 'new_tool', x: 1 }],
      },
    ],
    [
      '/v1/responses',
      {
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'a', x: 1 }, { type: 'new_part' }], x: 1 },
          { type: 'new_item', x: 1 },
        ],
        tools: [{ type: 'function', name: 'a', parameters: {}, x: 1 }, { type: 'new_tool' }],
      },
    ],
  ])('passes on members and types unknown to Berth, except at the top: %s', async (path, body) => {
    gateway.upstream.next(says({ text }))
    const passed = await gateway.call(path, { model: 'fast', ...body })
    expect([passed.status, gateway.upstream.requests.at(-1)?.body]).toEqual([200, { model: 'm1', ...body }])
    const refused = await gateway.call(path, { model: 'fast', ...body, x: 1 })
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_request', param: 'x' } },
    ])
  })

  it('lists its models with their facts', async () => {
    const { data } = (await (await gateway.call('/v1/models', undefined)).json()) as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toEqual(['main/m1', 'main/unpriced', 'main/plain', 'spare/m1', 'fast'])
    expect(data[0]).toEqual({
      id: 'main/m1',
      object: 'model',
      created: 0,
      owned_by: 'main',
      context_length: 128_000,
      max_output_tokens: 8192,
      supports_tools: true,
      supports_reasoning: true,
      reasoning_control: 'effort',
      reasoning_words: { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'high' },
      provider_model: 'm1',
      native_wires: ['chat', 'responses'],
      input_modalities: ['text', 'image'],
      pricing: { input: 1, cached_input: 0.5, cache_write: 1, output: 10 },
    })
    expect((await gateway.openai.models.list()).data).toHaveLength(5)
  })
})
