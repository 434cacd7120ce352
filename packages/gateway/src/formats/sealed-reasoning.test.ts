import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ResolvedModel } from '@berth/core/accounting/upstream.ts'
import { checkResponsesStream } from '@berth/testing/models/openai-stream.ts'
import { scriptedLanguageModel, translatedCall, usage } from '@berth/testing/models/scripted-language-model.ts'
import { describe, expect, it } from 'vitest'
import { callTranslated } from '../translate/call-translated.ts'
import { isSealedReasoning } from './sealed-reasoning.ts'

const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'x' }, usage: usage(10, 5) } as const
const call = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' } as const
const user = { role: 'user', content: 'Hi' }
const result = { type: 'function_call_output', call_id: 'a', output: 'ok' }
type Item = Record<string, unknown>

/** Returns the items that a client keeps of an answer made of these parts. */
async function replyTo(
  parts: readonly LanguageModelV4StreamPart[],
  model: Partial<ResolvedModel> = {},
): Promise<Item[]> {
  const body = { model: 'm', input: 'Hi', stream: true }
  const languageModel = scriptedLanguageModel([{ type: 'response-metadata' }, ...parts, finish], model.kind)
  const answer = await callTranslated(translatedCall({ wire: 'responses', body, languageModel, model }))
  if (answer.kind !== 'stream') throw new Error('no stream')
  let text = ''
  for await (const frame of answer.frames) text += frame
  return checkResponsesStream(text)['output'] as Item[]
}

/** Returns the assistant messages that the provider receives when a client replays these items. */
async function replay(items: readonly Item[], model: Partial<ResolvedModel> = {}, organizationId = 'ours') {
  const languageModel = scriptedLanguageModel([], model.kind)
  const body = { model: 'm', input: [user, ...items, { role: 'user', content: 'Go on' }] }
  await callTranslated(translatedCall({ wire: 'responses', body, languageModel, model, organizationId }))
  return languageModel.calls[0]?.prompt.filter(message => message.role === 'assistant').map(message => message.content)
}

const thinking = (metadata: Record<string, string>, ...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: 'reasoning-start', id: 'r' },
  ...deltas.map(delta => ({ type: 'reasoning-delta', id: 'r', delta }) as const),
  { type: 'reasoning-delta', id: 'r', delta: '', providerMetadata: { anthropic: metadata } },
  { type: 'reasoning-end', id: 'r' },
]

describe('sealed reasoning', () => {
  it("returns Anthropic's thinking with the text that it was signed with", async () => {
    const items = await replyTo([...thinking({ signature: 'sig' }, 'Let me ', 'see'), call])
    expect(items[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see' }] })
    const unsummed = [{ ...items[0], id: undefined, summary: [] }, ...items.slice(1), result]
    expect(await replay(unsummed)).toEqual([
      [
        { type: 'reasoning', text: 'Let me see', providerOptions: { anthropic: { signature: 'sig' } } },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} },
      ],
    ])
  })

  it("returns Anthropic's redacted thinking, which has no readable text", async () => {
    const items = await replyTo([...thinking({ redactedData: 'xyz' }), call])
    expect(items[0]).toMatchObject({ type: 'reasoning', summary: [] })
    expect(await replay([...items, result])).toMatchObject([
      [{ type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'xyz' } } }, { type: 'tool-call' }],
    ])
  })

  const google = { kind: 'google', provider: 'google' } as const
  const signed = { google: { thoughtSignature: 'sig' } }

  it("returns Gemini's signatures on calls, early or late in the stream", async () => {
    const early = await replyTo(
      [{ type: 'tool-input-start', id: 'a', toolName: 'look', providerMetadata: signed }, call],
      google,
    )
    expect(early.map(item => item['type'])).toEqual(['reasoning', 'function_call'])
    const late = await replyTo(
      [
        { type: 'tool-input-start', id: 'a', toolName: 'look' },
        { ...call, providerMetadata: signed },
      ],
      google,
    )
    expect(late.map(item => item['type'])).toEqual(['function_call', 'reasoning'])
    for (const items of [early, late]) {
      expect(await replay([...items, result], google)).toEqual([
        [{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {}, providerOptions: signed }],
      ])
    }
  })

  it("returns Gemini's signature on text", async () => {
    const items = await replyTo(
      [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: 'Done' },
        { type: 'text-delta', id: 't', delta: '', providerMetadata: signed },
        { type: 'text-end', id: 't' },
      ],
      google,
    )
    expect(await replay(items, google)).toEqual([[{ type: 'text', text: 'Done', providerOptions: signed }]])
  })

  it('returns reasoning that the provider did not sign', async () => {
    const model = { kind: 'openai-compatible', provider: 'deepseek' } as const
    const thought: LanguageModelV4StreamPart[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
      { type: 'reasoning-end', id: 'r' },
    ]
    const items = await replyTo([...thought, call], model)
    expect(await replay([...items, result], model)).toMatchObject([
      [{ type: 'reasoning', text: 'Hm' }, { type: 'tool-call' }],
    ])
  })

  it('is left out for another provider or model, in both directions', async () => {
    const items = await replyTo([...thinking({ signature: 'sig' }, 'Hm'), call])
    expect(isSealedReasoning(items[0]?.['encrypted_content'])).toBe(true)
    const elsewhere = [
      [items, { kind: 'google', provider: 'google' }],
      [items, { model: 'another' }],
      [[{ type: 'reasoning', summary: [], encrypted_content: 'gAAAAA-of-openai' }, ...items.slice(1)], {}],
      [[{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }] }, ...items.slice(1)], {}],
    ] as const
    for (const [message, model] of elsewhere) {
      expect(await replay([...message, result], model)).toMatchObject([[{ type: 'tool-call' }]])
    }
  })

  it('is refused if it was altered', async () => {
    const items = await replyTo([...thinking({ signature: 'sig' }, 'Hm'), call])
    const content = items[0]?.['encrypted_content'] as string
    const at = content.length - 10
    const altered = content.slice(0, at) + (content[at] === 'A' ? 'B' : 'A') + content.slice(at + 1)
    for (const encrypted_content of [altered, 'berth.1.', 'berth.1.AAAA']) {
      await expect(replay([{ ...items[0], encrypted_content }, ...items.slice(1), result])).rejects.toMatchObject({
        status: 400,
        param: 'input[1].encrypted_content',
      })
    }
  })

  it('is refused for another organization', async () => {
    const items = await replyTo([...thinking({ signature: 'sig' }, 'Hm'), call])
    await expect(replay([...items, result], {}, 'others')).rejects.toMatchObject({
      status: 400,
      param: 'input[1].encrypted_content',
    })
  })

  it('is left out if the text or call after it is missing', async () => {
    const [reasoning] = await replyTo([...thinking({ signature: 'sig' }, 'Hm'), call])
    expect(await replay([reasoning ?? {}])).toEqual([])
    expect(await replay([{ role: 'assistant', content: 'Well' }, reasoning ?? {}])).toEqual([
      [{ type: 'text', text: 'Well' }],
    ])
  })
})
