import type { ResolvedModel, TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { scriptedLanguageModel, translatedCall } from '@berth/testing/models/scripted-language-model.ts'
import { expect, it } from 'vitest'
import { callTranslated } from './call-translated.ts'

const sonnet = { kind: 'anthropic', model: 'claude-sonnet-4-5' } as const

/** Returns each tool and part of a request that carries a mark, as `<role or tool> <text or name>`, and its lifetime. */
async function marked(wire: TranslatedWire, body: object, model: Partial<ResolvedModel> = sonnet): Promise<string[]> {
  const languageModel = scriptedLanguageModel([], model.kind)
  await callTranslated(translatedCall({ wire, body: { model: 'm', ...body }, languageModel, model }))
  const [{ prompt = [], tools = [] } = {}] = languageModel.calls
  const holders: (readonly [name: string, holder: object])[] = [
    ...tools.map(tool => [`tool ${tool.name}`, tool] as const),
    ...prompt.flatMap<readonly [string, object]>(message =>
      typeof message.content === 'string'
        ? [[`system ${message.content}`, message]]
        : message.content.map(part => [`${message.role} ${'text' in part ? part.text : part.type}`, part]),
    ),
  ]
  return holders.flatMap(([name, holder]) => {
    const { cacheControl } = Object(Object(holder).providerOptions?.anthropic)
    if (cacheControl === undefined) return []
    return [[...name.split(' ').slice(0, 2), cacheControl.ttl].filter(Boolean).join(' ')]
  })
}

const long = 'word '.repeat(1_000)
const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }
const ephemeral = { cache_control: { type: 'ephemeral' } }
const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more })
const system = (content: unknown, more: object = {}) => ({ role: 'system', content, ...more })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
const result = { role: 'tool', tool_call_id: 'a', content: 'ok' }
const called = [user(long), { role: 'assistant', content: null, tool_calls: [call] }, result]
const tool = (name: string, description: string) => ({ type: 'function', function: { name, description } })

it.each([
  ['system and a message', 'chat', { messages: [system(long), user('Hi')] }, ['system word', 'user Hi']],
  ['the last tool', 'chat', { messages: [user('Hi')], tools: [tool('a', long), tool('b', '')] }, ['tool b', 'user Hi']],
  [
    'system, not tools',
    'chat',
    { messages: [system('x'), user('b')], tools: [tool('a', long)] },
    ['system x', 'user b'],
  ],
  ['the last two messages', 'responses', { input: [user(long), user('a'), user('b')] }, ['user a', 'user b']],
  ['results and words after them once', 'chat', { messages: [...called, user('b')] }, ['user word', 'user b']],
  ['results', 'chat', { messages: called }, ['user word', 'tool tool-result']],
  ['nothing of a short request', 'chat', { messages: [system('Be kind'), user('Hi')] }, []],
  ['what is long enough', 'chat', { messages: [system('Be kind'), user(long)] }, ['user word']],
] as const)('marks stand after %s', async (_, wire, body, places) => {
  expect(await marked(wire, body)).toEqual(places)
})

it.each([
  ['a part', { messages: [user([text('a', ephemeral), text(long)])] }, ['user a']],
  ['a message', { messages: [system(long, ephemeral), user('b')] }, ['system word']],
  ['a text of a message', { messages: [system([text('a', ephemeral)]), user(long)] }, ['system a']],
  ['a result', { messages: [...called.slice(0, 2), { ...result, ...ephemeral }] }, ['tool tool-result']],
  ['a tool', { messages: [user(long)], tools: [{ ...tool('a', ''), ...ephemeral }] }, ['tool a']],
  ["OpenAI's way", { messages: [user([text('a', breakpoint), text(long)])] }, ['user a']],
  ['longer', { messages: [user([text('a', { cache_control: { type: 'ephemeral', ttl: '1h' } })])] }, ['user a 1h']],
  [
    'more than four',
    { messages: [user([...'abcdef'].map(letter => text(letter, ephemeral)))] },
    [...'cdef'].map(l => `user ${l}`),
  ],
] as const)('a mark of the client, on %s, is the only one', async (_, body, places) => {
  expect(await marked('chat', body)).toEqual(places)
})

it.each([
  [{ prompt_cache_retention: 'none' }, sonnet, []],
  [{ prompt_cache_options: { mode: 'explicit' } }, sonnet, []],
  [{ prompt_cache_retention: '24h', prompt_cache_options: { mode: 'implicit' } }, sonnet, ['user word']],
  [{}, { kind: 'anthropic', model: 'claude-haiku-4-5' }, []],
  [{}, { kind: 'google' }, []],
  [{}, { kind: 'openai-compatible' }, []],
] as const)('with %j a model of %j gets no mark where nothing would be cached', async (body, model, places) => {
  expect(await marked('chat', { ...body, messages: [user(long)] }, model)).toEqual(places)
})
