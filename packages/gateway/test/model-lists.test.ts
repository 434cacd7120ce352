import { type Behaviour, refuses, says, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const lister = await startScriptedUpstream()
const data = [
  {
    id: 'vendor/large',
    context_length: 1000,
    top_provider: { max_completion_tokens: 100 },
    architecture: { input_modalities: ['text', 'image', 'smell'] },
    pricing: { prompt: '0.000002', completion: '0.00001' },
  },
  { id: 'small' },
  { id: 'has space' },
  7,
]
const list: Behaviour = (_, response) => void response.end(JSON.stringify({ data }))

let gateway: GatewayService
beforeAll(async () => {
  lister.next(list)
  gateway = await startGatewayService({
    providers: [{ id: 'listed', kind: 'openai-compatible', baseUrl: lister.baseUrl }],
    models: {
      aliases: { big: 'listed/vendor/large' },
      details: { 'listed/small': { contextTokens: 5, tools: false } },
    },
  })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await lister[Symbol.asyncDispose]()
})

describe('a provider without models', () => {
  it('is asked once for its list, which tells the abilities of its models', async () => {
    for (let n = 0; n < 2; n += 1) {
      const { data: models } = await gateway.openai.models.list()
      expect(models.filter(({ owned_by }) => owned_by === 'listed')).toMatchObject([
        {
          id: 'listed/vendor/large',
          context_length: 1000,
          max_output_tokens: 100,
          supports_tools: true,
          input_modalities: ['text', 'image'],
          pricing: { input: 2, cached_input: 2, cache_write: 2, output: 10 },
        },
        { id: 'listed/small', context_length: 5, supports_tools: false, pricing: null },
        { id: 'big' },
      ])
    }
    expect(lister.requests.filter(({ path }) => path === '/v1/models')).toHaveLength(1)
    const { response } = await gateway.openai.models.list().withResponse()
    expect(response.headers.has('x-svc-silent-providers')).toBe(false)
  })

  it('serves its listed models, and Responses even if it speaks only Chat', async () => {
    lister.next(says({ text: 'hello' }))
    const chat = { model: 'big', messages: [{ role: 'user' as const, content: 'a' }] }
    expect((await gateway.openai.chat.completions.create(chat)).choices[0]?.message.content).toBe('hello')
    expect((await gateway.openai.responses.create({ model: 'big', input: 'a' })).output_text).toBe('hello')
    const stream = gateway.openai.responses.stream({ model: 'big', input: 'a' })
    expect((await stream.finalResponse()).output_text).toBe('hello')
    expect((await gateway.call('/v1/responses', { model: 'listed/other', input: 'a' })).status).toBe(404)
  })

  it('that does not answer with its list leaves the others unchanged, and is named', async () => {
    const silent = await startScriptedUpstream()
    silent.next(refuses(500))
    await using other = await startGatewayService({
      providers: [{ id: 'listed', kind: 'openai', baseUrl: silent.baseUrl }],
    })
    const { data: listed, response } = await other.openai.models.list().withResponse()
    expect(listed.data.map(({ owned_by }) => owned_by)).not.toContain('listed')
    expect(listed.data).not.toEqual([])
    expect(response.headers.get('x-svc-silent-providers')).toBe('listed')
    // The refusal of the request tells the provider's fault, and not that the model is unknown.
    silent.next(refuses(401))
    const refused = await other.call('/v1/responses', { model: 'listed/a', input: 'a' })
    expect([refused.status, await refused.json()]).toMatchObject([
      502,
      { error: { code: 'upstream_credential_refused' } },
    ])
    silent.next(says({ text: 'hello' }))
    expect((await other.openai.responses.create({ model: 'listed/a', input: 'a' })).output_text).toBe('hello')
    await silent[Symbol.asyncDispose]()
  })
})
