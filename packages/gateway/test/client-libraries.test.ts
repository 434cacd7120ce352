import { agentsLibraries } from '@berth/testing/client-libraries/agents.ts'
import { aiLibraries } from '@berth/testing/client-libraries/ai.ts'
import { anthropicLibraries } from '@berth/testing/client-libraries/anthropic.ts'
import { googleLibraries } from '@berth/testing/client-libraries/google.ts'
import { langchainLibraries } from '@berth/testing/client-libraries/langchain.ts'
import { type ClientLibrary, type Endpoint, models } from '@berth/testing/client-libraries/library.ts'
import { openaiLibraries } from '@berth/testing/client-libraries/openai.ts'
import { answer, scriptedModel, signature } from '@berth/testing/client-libraries/scripted-model.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, providerKey, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

// The long test of the gateway: every library of docs/gateway.md, over a provider of each kind.

let gateway: GatewayService
let upstream: ScriptedUpstream
let endpoint: Endpoint

beforeAll(async () => {
  // No library may reach another machine, not even to report its own use.
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (...args: Parameters<typeof fetch>) => {
    const [target] = args
    const { hostname } = new URL(target instanceof Request ? target.url : target)
    if (hostname !== '127.0.0.1') throw new Error(`a library asks ${hostname}`)
    return fetch(...args)
  })
  vi.stubEnv('LANGSMITH_TRACING', 'false')
  vi.stubEnv('OPENAI_AGENTS_DISABLE_TRACING', '1')
  upstream = await startScriptedUpstream()
  upstream.next(scriptedModel)
  const { origin } = new URL(upstream.baseUrl)
  const provider = (kind: string, id: string, version = 'v1') => {
    const [name, model] = id.split('/')
    const described = { id: model, outputTokens: 8192, reasoning: true }
    return { id: name, kind, baseUrl: `${origin}/${version}`, apiKey: providerKey, models: [described] }
  }
  gateway = await startGatewayService({
    providers: [
      provider('openai', models.openai),
      provider('openai-compatible', models.compatible),
      provider('anthropic', models.anthropic),
      provider('google', models.google, 'v1beta'),
    ],
  })
  endpoint = { origin: gateway.test.url, key: gateway.aiKey }
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
})

const libraries: readonly ClientLibrary[] = [
  ...openaiLibraries,
  ...anthropicLibraries,
  ...googleLibraries,
  ...aiLibraries,
  ...agentsLibraries,
  ...langchainLibraries,
]

const cases = libraries.flatMap(library => library.models.map(model => ({ name: library.name, model, library })))

describe.each(cases)('$name, with $model', ({ library, model }) => {
  it('gets an answer', async () => {
    expect(await library.ask(endpoint, model)).toBe(answer.text)
  })

  it('gets a stream', async () => {
    expect(await library.stream(endpoint, model)).toBe(answer.text)
  })

  it.each([false, true])('gets the answer after the calls of its tools, streamed: %s', async streams => {
    expect(await library.loop(endpoint, model, streams)).toBe('The sums: sum-3 sum-7')
    const replayed = JSON.stringify(upstream.requests.at(-1)?.body)
    const keeps = library.keepsReasoning.includes(model) && (!streams || library.keepsStreamed !== false)
    expect(replayed.includes(signature)).toBe(keeps)
  })

  it('gets an answer by a schema', async () => {
    expect(await library.structured(endpoint, model)).toEqual(answer.place)
  })
})
