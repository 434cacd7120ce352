import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { asObject, type Json } from '../src/json.ts'
import { callsOf, type Engine, openEngine, textOf } from './support/engine.ts'
import { type CachedUsage, PrefixCache } from './support/prefix-cache.ts'
import {
  type Behaviour,
  call,
  errorBody,
  inputOf,
  type ModelRequest,
  refuses,
  saysChanged,
  signatureOf,
  streamsUntil,
} from './support/scripted-gateway.ts'

let engine: Engine
afterEach(() => engine[Symbol.asyncDispose]())

const done = { text: 'done' }
const bodyOf = (request: ModelRequest | undefined): Json => asObject(request?.body)

interface Form {
  readonly name: string
  readonly model: object
  readonly path: string
  /** The members that make the prefix before the conversation, and the conversation. */
  readonly before: readonly string[]
  readonly conversation: string
  /** A thought of an earlier request, as a later one sends it back. */
  readonly thought: (text: string) => object
  /** Members of a request of an effort, and of one without. */
  readonly asks: (word: string) => object
  readonly asksNothing: object
  /** A frame that breaks off a stream. */
  readonly broken: (frame: object) => string
}

const words = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'xhigh' }
const reasons = { supports_reasoning: true, reasoning_words: words }
const forms: readonly Form[] = [
  {
    name: 'Responses',
    model: { ...reasons, native_wires: ['chat', 'responses'], reasoning_control: 'effort' },
    path: '/v1/responses',
    before: ['tools', 'instructions'],
    conversation: 'input',
    thought: text => ({ type: 'reasoning', encrypted_content: `sealed ${text}` }),
    asks: effort => ({ reasoning: { effort, summary: 'auto' } }),
    asksNothing: { reasoning: { summary: 'auto' } },
    broken: error =>
      `event: error\ndata: ${JSON.stringify({ type: 'error', ...asObject(asObject(error)['error']) })}\n\n`,
  },
  {
    name: "Anthropic's Messages",
    model: { ...reasons, native_wires: ['messages'], reasoning_control: 'adaptive' },
    path: '/v1/messages',
    before: ['tools', 'system'],
    conversation: 'messages',
    thought: text => ({ type: 'thinking', thinking: text, signature: signatureOf(text) }),
    asks: effort => ({ thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort } }),
    asksNothing: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: undefined },
    broken: error => `event: error\ndata: ${JSON.stringify(error)}\n\n`,
  },
  {
    name: "Google's generateContent",
    model: { ...reasons, native_wires: ['generate'], reasoning_control: 'level', provider_model: 'gemini-3-pro' },
    path: '/v1beta/models/main%2Fm1:streamGenerateContent?alt=sse',
    before: ['tools', 'systemInstruction'],
    conversation: 'contents',
    thought: text => ({ thoughtSignature: signatureOf(text) }),
    asks: word => ({
      generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: word.toUpperCase() } },
    }),
    asksNothing: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    broken: error => `data: ${JSON.stringify(error)}\r\n\r\n`,
  },
]

const withoutMarks = (value: unknown) =>
  JSON.stringify(value, (key, member) => (key === 'cache_control' ? undefined : member))

describe.each(forms)('over $name', ({ model, path, before, conversation, thought, asks, asksNothing, broken }) => {
  test('the engine asks the model, thinks, calls and answers', async () => {
    engine = await openEngine({ model })
    engine.gateway.next({ thinking: 'Hm.', text: 'Looking.', calls: [{ name: 'list', args: {} }] }, done)
    const turn = await engine.prompt('go')
    expect(turn).toMatchObject({ stopReason: 'completed', turns: 2 })
    expect(textOf(turn.updates)).toBe('Looking.done')
    expect(callsOf(turn.updates)).toMatchObject([{ call: 'list completed' }])
    const thoughts = turn.updates.flatMap(update =>
      update.sessionUpdate === 'agent_thought_chunk' && update.content.type === 'text' ? [update.content.text] : [],
    )
    expect(thoughts.join('')).toBe('Hm.')
    expect(engine.gateway.requests.map(request => request.path)).toEqual([path, path])
  })

  test('a model gets its own thoughts back, signed, also in the next process', async () => {
    engine = await openEngine({ model })
    engine.gateway.next({ thinking: 'Let me look.', calls: [{ name: 'list', args: {} }] }, done)
    await engine.prompt('go')
    await engine.restart()
    await engine.prompt('on')
    const items = Object.values(thought('Let me look.')).map(value => JSON.stringify(value))
    for (const request of engine.gateway.requests.slice(1)) {
      for (const item of items) expect(inputOf(request)).toContain(item)
    }
  })

  test('each request begins with the bytes of the one before, also in the next process, so that caches find them', async () => {
    engine = await openEngine({ model })
    engine.gateway.next(
      { thinking: 'Hm.', calls: [{ name: 'bash', args: { command: 'date' } }] },
      call('list', { path: '.' }),
      call('bash', { command: 'exit 3' }),
      done,
    )
    await engine.prompt('go')
    await engine.prompt('go on')
    await engine.restart()
    await engine.prompt('and on')
    const bodies = engine.gateway.requests.map(bodyOf)
    const itemsOf = (body: Json) => body[conversation] as readonly unknown[]
    const prefixOf = (body: Json, length: number) =>
      withoutMarks([before.map(name => body[name]), itemsOf(body).slice(0, length)])
    expect(bodies).toHaveLength(6)
    for (const [at, next] of bodies.slice(1).entries()) {
      const earlier = bodies[at] ?? {}
      const { length } = itemsOf(earlier)
      expect(length).toBeGreaterThan(0)
      expect(prefixOf(next, length)).toBe(prefixOf(earlier, length))
    }
  })

  test("the effort is asked for in the provider's words, as each prompt says", async () => {
    engine = await openEngine({ model })
    engine.gateway.next(done)
    await engine.prompt('go')
    await engine.prompt('go', { effort: 'minimal' })
    await engine.restart()
    await engine.prompt('go', { effort: 'max' })
    await engine.prompt('go')
    const bodies = engine.gateway.requests.map(bodyOf)
    for (const [at, expected] of [asksNothing, asks('low'), asks('xhigh'), asksNothing].entries()) {
      expect(bodies[at]).toMatchObject(Object.fromEntries(Object.entries(expected).filter(([, value]) => value)))
      if (expected === asksNothing) expect(JSON.stringify(bodies[at])).not.toMatch(/"(effort|thinkingLevel)"/)
    }
  })

  test('a refusal has the same meaning', async () => {
    engine = await openEngine({ model })
    engine.gateway.next(refuses(402, 'cost_budget_exceeded'), refuses(503, 'upstream_overloaded'), done)
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'cost_budget' })
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'completed' })
    engine.gateway.next(refuses(502, 'upstream_credential_refused', 'Mend the key.'))
    const turn = await engine.prompt('go')
    expect(turn).toMatchObject({ stopReason: 'error', errorCode: 'model_credential_refused' })
    expect(callsOf(turn.updates)).toEqual([{ call: 'model failed', text: 'Model: Mend the key.' }])
  })

  test('an answer that breaks off is asked for again', async () => {
    engine = await openEngine({ model })
    const fails: Behaviour = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(broken(errorBody(request.path, 503, 'upstream_overloaded', 'too much')))
    }
    engine.gateway.next(streamsUntil({ text: 'I was about to' }, 2, 'cut'), fails, done)
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'completed', turns: 1 })
    expect(engine.gateway.requests).toHaveLength(3)
  })

  test('the answer is bounded by the tokens that are left', async () => {
    engine = await openEngine({ model })
    engine.gateway.next(done)
    await engine.prompt('go', { budgets: { responseTokens: 3000 } })
    expect(inputOf(engine.gateway.requests[0])).toMatch(/"(max_output_tokens|max_tokens|maxOutputTokens)":3000/)
  })
})

describe("over Anthropic's Messages", () => {
  const model = { ...reasons, native_wires: ['messages'], reasoning_control: 'adaptive' }

  test('a Turn of twenty calls reads its input from the cache', async () => {
    engine = await openEngine({ model })
    const cache = new PrefixCache()
    const usages: CachedUsage[] = []
    const counts =
      (reply: Parameters<typeof saysChanged>[0]): Behaviour =>
      (request, response) => {
        const usage = cache.take(request.body)
        usages.push(usage)
        const [given, reported] = ['"input_tokens":60,"cache_read_input_tokens":40', JSON.stringify(usage).slice(1, -1)]
        return saysChanged(reply, frame => frame.replace(given, reported))(request, response)
      }
    const calls = Array.from({ length: 20 }, (_, n) => call('bash', { command: `seq ${n} ${n + 400}` }))
    engine.gateway.next(...(calls.map(counts) as [Behaviour]), counts(done))
    expect(await engine.prompt('Count')).toMatchObject({ stopReason: 'completed', turns: 21 })
    const sum = (key: keyof CachedUsage) => usages.reduce((total, usage) => total + usage[key], 0)
    const [input, read, written] = [
      sum('input_tokens'),
      sum('cache_read_input_tokens'),
      sum('cache_creation_input_tokens'),
    ]
    const all = input + read + written
    expect(read / all).toBeGreaterThanOrEqual(0.85)
    expect((input + 0.1 * read + 1.25 * written) / all).toBeLessThanOrEqual(0.3)
  })

  test('a step of more calls than the cache looks back is found all the same', async () => {
    engine = await openEngine({ model })
    const cache = new PrefixCache()
    const many = { calls: Array.from({ length: 30 }, () => ({ name: 'list', args: {} })) }
    engine.gateway.next({ calls: [{ name: 'bash', args: { command: 'seq 2000' } }] }, many, many, done)
    await engine.prompt('Look')
    const usages = engine.gateway.requests.map(({ body }) => cache.take(body))
    for (const [at, { cache_read_input_tokens: read }] of usages.slice(1).entries()) {
      const { cache_read_input_tokens: before, cache_creation_input_tokens: written } = usages[at] as CachedUsage
      expect(read).toBe(before + written)
    }
  })

  test('a call whose arguments are invalid JSON gets an error and does not run', async () => {
    engine = await openEngine({ model })
    const broken = saysChanged(call('bash', { command: 'touch made' }), frame => frame.replace('made\\"}"', 'made"'))
    engine.gateway.next(broken, done)
    const turn = await engine.prompt('go')
    expect(callsOf(turn.updates)).toEqual([{ call: 'bash failed', text: expect.stringContaining('not a JSON object') }])
    expect(existsSync(join(engine.workspace, 'made'))).toBe(false)
  })

  test('a model of budgets thinks within the answer, and one of little room not at all', async () => {
    engine = await openEngine({ model: { ...model, reasoning_control: 'budget' } })
    engine.gateway.next(done)
    await engine.prompt('go')
    await engine.prompt('go', { budgets: { responseTokens: 3000 } })
    await engine.prompt('go', { budgets: { responseTokens: 2000 } })
    const [first, second, third] = engine.gateway.requests
    expect(bodyOf(first)).toMatchObject({ max_tokens: 8192, thinking: { type: 'enabled', budget_tokens: 7168 } })
    expect(first?.headers['anthropic-beta']).toBe('interleaved-thinking-2025-05-14')
    expect(bodyOf(second)).toMatchObject({ max_tokens: 3000, thinking: { budget_tokens: 1976 } })
    expect(bodyOf(third)).not.toHaveProperty('thinking')
  })

  test('a model that refuses is not asked again', async () => {
    engine = await openEngine({ model })
    engine.gateway.next(
      saysChanged(done, frame => frame.replace('"stop_reason":"end_turn"', '"stop_reason":"refusal"')),
    )
    expect(await engine.prompt('go')).toMatchObject({ stopReason: 'error', errorCode: 'model_request_refused' })
    expect(engine.gateway.requests).toHaveLength(1)
  })

  test('the summary of a conversation is not written to the cache', async () => {
    engine = await openEngine({ model: { ...model, context_length: 20_000 } })
    engine.gateway.next(done)
    const long = 'A swan, and more. '.repeat(1300)
    await engine.prompt(long)
    await engine.prompt(long)
    await engine.prompt('/compact')
    const marks = engine.gateway.requests.map(request => inputOf(request).split('"cache_control"').length - 1)
    expect(marks).toEqual([3, 4, 0])
  })
})

test('a request over Responses names its conversation to the cache, and asks for the reasoning that it replays', async () => {
  engine = await openEngine({ model: { ...reasons, native_wires: ['chat'] } })
  engine.gateway.next(done)
  await engine.prompt('go')
  await engine.prompt('on')
  const [first, second] = engine.gateway.requests.map(bodyOf)
  expect(first).toMatchObject({ include: ['reasoning.encrypted_content'], reasoning: { summary: 'auto' } })
  expect(first?.['prompt_cache_key']).toEqual(expect.any(String))
  expect(second?.['prompt_cache_key']).toBe(first?.['prompt_cache_key'])
})
