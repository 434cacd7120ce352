import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { checkChatStream, checkResponsesStream } from '@berth/testing/models/openai-stream.ts'
import { scriptedLanguageModel, translatedCall, usage } from '@berth/testing/models/scripted-language-model.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callTranslated } from './call-translated.ts'

type Parts = readonly (LanguageModelV4StreamPart | Error)[]

const tool = { name: 'look', parameters: { type: 'object', properties: {} } }
const bodies: Record<TranslatedWire, Record<string, unknown>> = {
  responses: { model: 'm', input: 'Hello', stream: true, tools: [{ type: 'function', ...tool }] },
  chat: {
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: tool }],
  },
}

async function run(wire: TranslatedWire, parts: Parts, body: object = {}, kind: 'anthropic' | 'google' = 'anthropic') {
  const call = translatedCall({
    wire,
    body: { ...bodies[wire], ...body },
    languageModel: scriptedLanguageModel([{ type: 'response-metadata' }, ...parts], kind),
    model: { kind },
  })
  const answer = await callTranslated(call)
  if (answer.kind !== 'stream') throw new Error('no stream')
  let text = ''
  for await (const frame of answer.frames) text += frame
  return { text, usage: await answer.usage }
}

const responses = async (parts: Parts, body?: object) =>
  checkResponsesStream((await run('responses', parts, body)).text)
const chat = async (parts: Parts, body?: object) =>
  checkChatStream((await run('chat', parts, body)).text, { includeUsage: true })

const finish = (unified: LanguageModelV4FinishReason['unified'] = 'stop', raw: string | null = unified) =>
  ({ type: 'finish', finishReason: { unified, raw: raw ?? undefined }, usage: usage(10, 5) }) as const
const text = (id: string, ...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  ...deltas.map(delta => ({ type: 'text-delta', id, delta }) as const),
  { type: 'text-end', id },
]
const begin = (id: string) => ({ type: 'tool-input-start', id, toolName: 'look' }) as const
const args = (id: string, delta: string) => ({ type: 'tool-input-delta', id, delta }) as const
const call = (toolCallId: string, input: string) =>
  ({ type: 'tool-call', toolCallId, toolName: 'look', input }) as const

describe('every stream of parts', () => {
  const id = fc.constantFrom('', '0', '1', '2')
  const delta = fc.constantFrom('', 'a', '{"a":', '1}', 'é😀', '\n\n', 'data: x')
  const metadata = fc.option(
    fc.constantFrom(
      { google: { thoughtSignature: 'sig' } },
      { anthropic: { signature: 'sig' } },
      { anthropic: { redactedData: 'x' } },
    ),
    { nil: undefined },
  )
  const withMetadata = <T extends object>(part: T) =>
    metadata.map(
      providerMetadata => (providerMetadata ? { ...part, providerMetadata } : part) as LanguageModelV4StreamPart,
    )
  const plain = fc
    .record({ id, delta, name: fc.constantFrom('look', 'find'), executed: fc.boolean() })
    .chain(({ id, delta, name, executed }) =>
      fc.oneof(
        withMetadata({ type: 'text-start', id }),
        withMetadata({ type: 'text-delta', id, delta }),
        withMetadata({ type: 'text-end', id }),
        withMetadata({ type: 'reasoning-start', id }),
        withMetadata({ type: 'reasoning-delta', id, delta }),
        withMetadata({ type: 'reasoning-end', id }),
        withMetadata({ type: 'tool-input-start', id, toolName: name }),
        withMetadata({ type: 'tool-input-delta', id, delta }),
        withMetadata({ type: 'tool-input-end', id }),
        withMetadata({ type: 'tool-call', toolCallId: id, toolName: name, input: delta }),
        fc.constant({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: '{}',
          providerExecuted: executed,
        } as const),
        fc.constant({ type: 'tool-result', toolCallId: id, toolName: name, result: 'r' } as const),
        fc.constant({ type: 'source', sourceType: 'url', id: 's', url: 'https://example.test' } as const),
        fc.constant({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA==' } } as const),
        fc.constant({ type: 'raw', rawValue: { usageMetadata: { promptTokenCount: 3 } } } as const),
        fc.constant({ type: 'ping' } as const),
      ),
    )
  const reason = fc.constantFrom(
    'stop',
    'length',
    'content-filter',
    'tool-calls',
    'error',
    'interrupted',
    'other' as const,
  )
  const ending = fc.oneof(
    fc.constant([]),
    fc.tuple(reason, fc.boolean()).map(([unified, isRaw]) => [finish(unified as 'stop', isRaw ? unified : null)]),
    fc.constant([{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } } as const]),
    fc.constant([new TypeError('terminated')]),
    fc.array(plain, { maxLength: 3 }).map(late => [finish(), ...late]),
  )
  const stream = fc.tuple(fc.array(plain as fc.Arbitrary<LanguageModelV4StreamPart>, { maxLength: 30 }), ending)
  const settings = fc.record({ parallel_tool_calls: fc.boolean() })

  it('becomes a well-formed response', async () => {
    await fc.assert(
      fc.asyncProperty(stream, settings, fc.constantFrom('anthropic', 'google'), async ([parts, end], body, kind) => {
        const { text } = await run('responses', [...parts, ...end], body, kind as 'google')
        const { status } = checkResponsesStream(text)
        const last = end[0]
        if (last === undefined || last instanceof Error || last.type === 'error') expect(status).toBe('failed')
      }),
      { numRuns: 400 },
    )
  })

  it('becomes a well-formed chat completion', async () => {
    await fc.assert(
      fc.asyncProperty(stream, settings, fc.constantFrom('anthropic', 'google'), async ([parts, end], body, kind) => {
        const { text } = await run('chat', [...parts, ...end], body, kind as 'google')
        const { error } = checkChatStream(text, { includeUsage: true })
        const last = end[0]
        if (last === undefined || last instanceof Error || last.type === 'error') expect(error).toBeDefined()
      }),
      { numRuns: 400 },
    )
  })
})

describe('a streamed response', () => {
  it('keeps interleaved parallel calls apart', async () => {
    const parts = [
      ...text('t', 'Look', 'ing'),
      begin('a'),
      begin('b'),
      args('a', '{"x":'),
      args('b', '{"y":'),
      args('a', '1}'),
      args('b', '2}'),
      call('b', '{"y":2}'),
      call('a', '{"x":1}'),
      finish('tool-calls'),
    ]
    const { output, status } = await responses(parts)
    expect(status).toBe('completed')
    expect(output).toMatchObject([
      { type: 'message', content: [{ text: 'Looking' }] },
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"x":1}' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{"y":2}' },
    ])
    const { calls, finishReason } = await chat(parts)
    expect(finishReason).toBe('tool_calls')
    expect(calls).toEqual([
      { id: 'a', name: 'look', args: '{"x":1}' },
      { id: 'b', name: 'look', args: '{"y":2}' },
    ])
  })

  it('ends a text when a call begins, even if the provider leaves it open', async () => {
    const open = text('t', 'Look').slice(0, -1)
    const parts = [
      ...open,
      call('a', '{}'),
      { type: 'text-delta', id: 't', delta: 'Well' } as const,
      finish('tool-calls'),
    ]
    const { text: stream } = await run('responses', parts)
    checkResponsesStream(stream)
    const items = [...stream.matchAll(/^event: response\.output_item\.(added|done)$/gm)].map(([, what]) => what)
    expect(items).toEqual(['added', 'done', 'added', 'done', 'added', 'done'])
  })

  it('gives a new id to a call that has none or a duplicate', async () => {
    const parts = [call('', '{}'), call('', '{}'), call('x', '{}'), call('x', '{}'), finish('tool-calls')]
    const { output } = await responses(parts)
    expect(new Set((output as { call_id: string }[]).map(item => item.call_id)).size).toBe(4)
    expect((await chat(parts)).calls).toHaveLength(4)
  })

  it('gives a call without arguments an empty object', async () => {
    expect((await responses([begin('a'), call('a', ''), finish('tool-calls')])).output).toMatchObject([
      { arguments: '{}' },
    ])
  })

  it('is incomplete at the token limit, as is a call that was cut short', async () => {
    const parts = [...text('t', 'cut'), begin('a'), args('a', '{"x'), finish('length')]
    const { status, incomplete_details, output } = await responses(parts)
    expect({ status, incomplete_details }).toEqual({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    expect(output).toMatchObject([{ status: 'completed' }, { status: 'incomplete', arguments: '{"x' }])
    expect((await chat(parts)).finishReason).toBe('length')
  })

  it('is incomplete if the provider filtered it', async () => {
    const parts = [...text('t', 'No'), finish('content-filter')]
    expect((await responses(parts)).incomplete_details).toEqual({ reason: 'content_filter' })
    expect((await chat(parts)).finishReason).toBe('content_filter')
  })

  it.each([
    ['breaks off', [] as Parts],
    ['ends without a reason', [finish('other', null)]],
    ['is interrupted', [finish('interrupted', null)]],
    ['loses its connection', [new TypeError('terminated')]],
    ['reports an error', [{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } } as const]],
  ])('that %s fails, and keeps the output so far', async (_, end) => {
    const parts = [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Half' }, ...end] as Parts
    const response = await responses(parts)
    expect(response['status']).toBe('failed')
    expect(response['error']).toMatchObject({ code: 'server_error' })
    expect(response['output_text']).toBe('Half')
    const { content, error, finishReason } = await chat(parts)
    expect({ content, finishReason }).toEqual({ content: 'Half', finishReason: undefined })
    expect(error).toBeDefined()
  })

  it('reports usage, even if it arrives last', async () => {
    const { usage } = await responses([...text('t', 'Hi'), finish()])
    expect(usage).toMatchObject({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 15,
    })
    expect((await chat([...text('t', 'Hi'), finish()])).usage).toMatchObject({
      prompt_tokens: 10,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens: 5,
      completion_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 15,
    })
  })

  it('keeps one call if the client refuses parallel calls and the provider cannot prevent them', async () => {
    const parts = [call('a', '{}'), begin('b'), args('b', '{}'), call('b', '{}'), finish('tool-calls')]
    const { text } = await run('responses', parts, { parallel_tool_calls: false }, 'google')
    expect(checkResponsesStream(text)['output']).toMatchObject([{ call_id: 'a' }])
  })
})

describe('before the first byte', () => {
  it("turns a provider's error into its own status", async () => {
    const error = { type: 'overloaded_error', message: 'busy' }
    const call = translatedCall({
      wire: 'responses',
      body: bodies.responses,
      languageModel: scriptedLanguageModel([
        { type: 'stream-start', warnings: [] },
        { type: 'error', error },
      ]),
    })
    await expect(callTranslated(call)).rejects.toMatchObject({ code: 'upstream_overloaded' })
  })

  it('refuses by name a setting that the package left out', async () => {
    const warnings = [{ type: 'unsupported', feature: 'topP', details: 'It has no topP. topP is ignored.' } as const]
    const languageModel = scriptedLanguageModel([{ type: 'stream-start', warnings }, finish()])
    const call = translatedCall({ wire: 'responses', body: { ...bodies.responses, top_p: 0.5 }, languageModel })
    const refusal = { status: 400, code: 'invalid_request', param: 'top_p', message: 'It has no topP.' }
    await expect(callTranslated(call)).rejects.toMatchObject(refusal)
    expect(languageModel.calls[0]?.abortSignal?.aborted).toBe(true)
  })
})

describe('before the last frame', () => {
  it.each([
    [[...text('t', 'Hi'), finish()], false],
    [text('t', 'Hi'), true],
  ])('books the usage (%#)', async (parts, failed) => {
    const booked: unknown[] = []
    const languageModel = scriptedLanguageModel([{ type: 'response-metadata' }, ...parts])
    const answer = await callTranslated(
      translatedCall({
        wire: 'responses',
        body: bodies.responses,
        languageModel,
        beforeEnd: async (usage, failed) => void booked.push({ usage, failed }),
      }),
    )
    if (answer.kind !== 'stream') throw new Error('no stream')
    for await (const frame of answer.frames)
      if (/^event: response\.(completed|failed)$/m.test(frame)) expect(booked).toHaveLength(1)
    expect(booked).toMatchObject([{ usage: failed ? null : { inputTokens: 10 }, failed }])
  })
})

describe('a client that leaves', () => {
  const opening = {
    type: 'custom',
    kind: 'anthropic.message_start',
    providerMetadata: { anthropic: { usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 1 } } },
  } as const
  const known = { inputTokens: 100, cachedInputTokens: 60, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 }

  it('aborts the upstream request and reports the usage known so far', async () => {
    const languageModel = scriptedLanguageModel([
      { type: 'response-metadata' },
      opening,
      ...text('t', 'a', 'b'),
      finish(),
    ])
    const answer = await callTranslated(translatedCall({ wire: 'chat', body: bodies.chat, languageModel }))
    if (answer.kind !== 'stream') throw new Error('no stream')
    let frames = 0
    for await (const _ of answer.frames) if (++frames === 2) break
    expect(languageModel.calls[0]?.abortSignal?.aborted).toBe(true)
    expect(await answer.usage).toEqual(known)
  })

  it.each(['aborts', 'never reads'])('aborts the upstream request if it %s before the first frame', async how => {
    const gone = new AbortController()
    const languageModel = scriptedLanguageModel([{ type: 'response-metadata' }, ...text('t', 'a'), finish()])
    const call = translatedCall({ wire: 'chat', body: bodies.chat, languageModel, signal: gone.signal })
    const answer = await callTranslated(call)
    if (answer.kind !== 'stream') throw new Error('no stream')
    if (how === 'aborts') gone.abort()
    else await answer.frames[Symbol.asyncIterator]().return?.()
    expect(languageModel.calls[0]?.abortSignal?.aborted).toBe(true)
    expect(await answer.usage).toBeNull()
  })
})
