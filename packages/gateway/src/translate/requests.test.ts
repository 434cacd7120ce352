import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ResolvedModel, TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { scriptedLanguageModel, translatedCall } from '@berth/testing/models/scripted-language-model.ts'
import { describe, expect, it } from 'vitest'
import { callTranslated } from './call-translated.ts'

type Body = Record<string, unknown>

async function ask(
  wire: TranslatedWire,
  body: Body,
  model: Partial<ResolvedModel> = {},
): Promise<LanguageModelV4CallOptions> {
  const languageModel = scriptedLanguageModel([], model.kind)
  const least = wire === 'chat' ? { messages: [{ role: 'user', content: 'Hi' }] } : { input: 'Hi' }
  await callTranslated(translatedCall({ wire, body: { model: 'm', ...least, ...body }, languageModel, model }))
  const [options] = languageModel.calls
  if (options === undefined) throw new Error('the model was not asked')
  return options
}

const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
const fn = { type: 'function', name: 'look', parameters: schema }
const call = (id: string, args = '{}') => ({ type: 'function_call', call_id: id, name: 'look', arguments: args })
const output = (id: string, output: unknown = 'ok') => ({ type: 'function_call_output', call_id: id, output })
const user = (content: unknown) => ({ role: 'user', content })
const google = { kind: 'google', provider: 'google' } as const
const compatible = { kind: 'openai-compatible', provider: 'ollama' } as const

describe('the input items of a Responses request', () => {
  it('become messages with parts of every kind', async () => {
    const { prompt } = await ask('responses', {
      instructions: 'Be brief.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Use tabs.' }] },
        user([
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,AAAA' },
          { type: 'input_image', detail: 'auto', image_url: 'https://example.test/a.png' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
          { type: 'input_file', file_url: 'https://example.test/b.constructor' },
        ]),
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'A cat.', annotations: [] }],
        },
        user('Sure?'),
      ],
    })
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'Use tabs.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
          { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL('https://example.test/a.png') } },
          { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: { type: 'data', data: 'BBBB' } },
          {
            type: 'file',
            mediaType: 'application/pdf',
            data: { type: 'url', url: new URL('https://example.test/b.constructor') },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'A cat.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Sure?' }] },
    ])
  })

  it.each([
    ['after all calls', [call('a'), call('b'), output('b', 'B'), output('a', 'A')]],
    [
      'around a message',
      [call('a'), { role: 'assistant', content: 'Wait' }, call('b'), output('a', 'A'), output('b', 'B')],
    ],
    ['after the next message', [call('a'), call('b'), user('Go on'), output('a', 'A'), output('b', 'B')]],
  ])('keep the outputs of a turn together if they come %s', async (_, items) => {
    const { prompt } = await ask('responses', { input: [user('Hi'), ...items] })
    const roles = prompt.map(message => message.role)
    expect(roles.slice(0, 3)).toEqual(['user', 'assistant', 'tool'])
    expect(prompt[2]?.content).toMatchObject([
      { toolCallId: 'a', toolName: 'look', output: { type: 'text', value: 'A' } },
      { toolCallId: 'b', toolName: 'look', output: { type: 'text', value: 'B' } },
    ])
  })

  it('stay separate turns if each call has its output before the next', async () => {
    const { prompt } = await ask('responses', { input: [user('Hi'), call('a'), output('a'), call('b'), output('b')] })
    expect(prompt.map(message => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
  })

  it('carry images of tool outputs, in the tool message or in a user message after it', async () => {
    const seen = [
      { type: 'input_text', text: 'Here' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ]
    const input = [user('Hi'), call('a'), output('a', seen)]
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } }
    const whole = await ask('responses', { input })
    expect(whole.prompt[2]?.content).toMatchObject([
      { output: { type: 'content', value: [{ type: 'text', text: 'Here' }, image] } },
    ])
    const { prompt } = await ask('responses', { input }, compatible)
    expect(prompt[2]?.content).toMatchObject([{ output: { type: 'text', value: 'Here' } }])
    expect(prompt[3]).toEqual({ role: 'user', content: [image] })
  })

  it("return a model's invalid JSON arguments to it unchanged", async () => {
    const { prompt } = await ask('responses', { input: [user('Hi'), call('a', '{"x'), output('a')] })
    expect(prompt[1]?.content).toMatchObject([{ input: { arguments: '{"x' } }])
  })

  it.each([
    [[call('a')], 'input[0]', /no output/],
    [[output('a')], 'input[0]', /No call/],
    [[call('a'), call('a'), output('a')], 'input[1]', /Two calls/],
    [[call('a'), output('a'), output('a')], 'input[2]', /two outputs/],
    [[{ type: 'item_reference', id: 'msg_1' }], 'input[0].type', /Set `store: false` in the client/],
    [[{ type: 'web_search_call', id: 'ws_1' }], 'input[0].type', /web_search_call/],
    [[user([{ type: 'input_image', file_id: 'file_1' }])], 'input[0].content[0].file_id', /keeps no files/],
    [[user([{ type: 'input_image', image_url: 'file:///etc/passwd' }])], 'input[0].content[0].image_url', /URL/],
    [
      [user([{ type: 'input_image', image_url: 'http://example.test/a.png' }])],
      'input[0].content[0].image_url',
      /data URL/,
    ],
    [[user([{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }])], 'input[0].content[0]', /audio/],
    [[user([{ type: 'input_video' }])], 'input[0].content[0].type', /input_video/],
    [[{ role: 'critic', content: 'x' }], 'input[0].role', /critic/],
    [[{ type: 'function_call', call_id: 'a', name: 'x' }], 'input[0].arguments', /string/],
    [[], 'input', /nothing/],
    [[{ type: 'reasoning', summary: [] }], 'input', /nothing/],
  ])('refuse %j', async (input, param, message) => {
    await expect(ask('responses', { input })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      param,
      message: expect.stringMatching(message),
    })
  })
})

describe('the messages of a Chat Completions request', () => {
  it('become system, user, assistant and tool messages', async () => {
    const { prompt } = await ask('chat', {
      messages: [
        { role: 'developer', content: 'Be brief.' },
        user([
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          { type: 'file', file: { filename: 'n.txt', file_data: 'data:text/plain;base64,SGk=' } },
        ]),
        {
          role: 'assistant',
          content: null,
          tool_calls: ['a', 'b'].map(id => ({
            id,
            type: 'function',
            function: { name: 'look', arguments: '{"a":"1"}' },
          })),
        },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'B' }] },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
      ],
    })
    expect(prompt).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [{ text: 'See' }, { mediaType: 'image/png' }, { mediaType: 'text/plain', filename: 'n.txt' }],
      },
      { role: 'assistant', content: [{ toolCallId: 'a', input: { a: '1' } }, { toolCallId: 'b' }] },
      {
        role: 'tool',
        content: [
          { toolCallId: 'a', output: { value: 'A' } },
          { toolCallId: 'b', output: { value: 'B' } },
        ],
      },
    ])
  })

  it('keep the place of a system message if the provider allows one anywhere', async () => {
    const messages = [user('Hi'), { role: 'system', content: 'Now in French.' }, user('Go on')]
    const roles = async (model: Partial<ResolvedModel>) =>
      (await ask('chat', { messages }, model)).prompt.map(message => message.role)
    expect(await roles(compatible)).toEqual(['user', 'system', 'user'])
    expect(await roles(google)).toEqual(['system', 'user', 'user'])
  })

  it.each([
    [{ role: 'function', name: 'x', content: 'y' }, 'messages[0].role'],
    [{ role: 'assistant', function_call: { name: 'x', arguments: '{}' } }, 'messages[0].function_call'],
    [{ role: 'assistant', audio: { id: 'x' } }, 'messages[0].audio'],
    [user([{ type: 'file', file: { file_id: 'x' } }]), 'messages[0].content[0].file.file_id'],
    [user(7), 'messages[0].content'],
    [{ role: 'tool', tool_call_id: 'a', content: 'x' }, 'messages[0]'],
  ])('refuse %j', async (message, param) => {
    await expect(ask('chat', { messages: [message] })).rejects.toMatchObject({ status: 400, param })
  })
})

describe('tools', () => {
  it.each([
    [undefined, { type: 'object', properties: {} }],
    [null, { type: 'object', properties: {} }],
    [{}, { type: 'object', properties: {} }],
    [{ type: 'object' }, { type: 'object', properties: {} }],
    [
      { type: ['object', 'null'], properties: {} },
      { type: 'object', properties: {} },
    ],
    [
      { properties: { a: true }, required: ['a'] },
      { type: 'object', properties: { a: true }, required: ['a'] },
    ],
    [
      { $ref: '#/$defs/a', $defs: { a: schema } },
      { type: 'object', properties: {}, $ref: '#/$defs/a', $defs: { a: schema } },
    ],
    [schema, schema],
  ])('take the schema %j', async (parameters, inputSchema) => {
    const { tools } = await ask('responses', { tools: [{ type: 'function', name: 'f', parameters }] })
    expect(tools).toEqual([{ type: 'function', name: 'f', inputSchema }])
    const chat = await ask('chat', { tools: [{ type: 'function', function: { name: 'f', parameters } }] })
    expect(chat.tools).toEqual(tools)
  })

  const two = [fn, { ...fn, name: 'find' }]
  it.each([
    ['auto', { type: 'auto' }, 2],
    ['none', { type: 'none' }, 2],
    ['required', { type: 'required' }, 2],
    [{ type: 'function', name: 'find' }, { type: 'tool', toolName: 'find' }, 2],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] }, { type: 'required' }, 1],
    [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] }, { type: 'auto' }, 1],
  ])('are chosen by %j', async (tool_choice, toolChoice, count) => {
    const options = await ask('responses', { tools: two, tool_choice })
    expect(options.toolChoice).toEqual(toolChoice)
    expect(options.tools).toHaveLength(count)
  })

  it('are chosen in the form of Chat Completions', async () => {
    const tools = two.map(({ name }) => ({ type: 'function', function: { name } }))
    const tool = { type: 'function', function: { name: 'look' } }
    expect((await ask('chat', { tools, tool_choice: tool })).toolChoice).toEqual({ type: 'tool', toolName: 'look' })
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool] } }
    const options = await ask('chat', { tools, tool_choice })
    expect(options.toolChoice).toEqual({ type: 'required' })
    expect(options.tools).toMatchObject([{ name: 'look' }])
  })

  it('are called one at a time if the client asks for it', async () => {
    const body = { tools: [fn], parallel_tool_calls: false }
    expect((await ask('responses', body)).providerOptions).toEqual({ anthropic: { disableParallelToolUse: true } })
    expect((await ask('responses', body, compatible)).providerOptions).toEqual({
      openaiCompatible: { parallel_tool_calls: false },
    })
  })

  it.each([
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type', /web_search/],
    [{ tools: [fn, { type: 'custom', name: 'x' }] }, 'tools[1].type', /custom/],
    [{ tools: [fn, fn] }, 'tools', /same name/],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name', /string/],
    [{ tools: [{ ...fn, parameters: { type: 'string' } }] }, 'tools[0].parameters', /object/],
    [{ tools: [{ ...fn, parameters: 'x' }] }, 'tools[0].parameters', /object/],
    [{ tool_choice: 'required' }, 'tool_choice', /tools/],
    [{ tools: [fn], tool_choice: 'any' }, 'tool_choice', /any/],
    [{ tools: [fn], tool_choice: { type: 'function', name: 'nope' } }, 'tool_choice.name', /nope/],
    [{ tools: [fn], tool_choice: { type: 'mcp' } }, 'tool_choice', /mcp/],
    [
      { tools: [fn], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp' }] } },
      'tool_choice.tools[0].type',
      /function/,
    ],
  ])('refuse %j', async (body, param, message) => {
    await expect(ask('responses', body)).rejects.toMatchObject({
      status: 400,
      param,
      message: expect.stringMatching(message),
    })
  })
})

describe('settings', () => {
  it("of a Responses request reach the provider's options", async () => {
    const options = await ask(
      'responses',
      {
        max_output_tokens: 100,
        temperature: 0.5,
        top_p: 1,
        reasoning: { effort: 'high', summary: 'auto' },
        user: 'u',
        service_tier: 'flex',
        metadata: { a: 'b' },
        prompt_cache_key: 'k',
        store: false,
        include: ['reasoning.encrypted_content'],
        truncation: 'disabled',
        text: { format: { type: 'json_schema', name: 'a', description: 'b', schema, strict: true } },
      },
      google,
    )
    expect(options).toMatchObject({
      responseFormat: { type: 'json', name: 'a', description: 'b', schema },
      maxOutputTokens: 100,
      temperature: 0.5,
      reasoning: 'high',
      providerOptions: { google: { thinkingConfig: { includeThoughts: true }, serviceTier: 'flex' } },
    })
    expect(options).not.toHaveProperty('topP')
  })

  it("of a Chat Completions request reach the provider's options", async () => {
    const options = await ask(
      'chat',
      {
        max_completion_tokens: 50,
        stop: 'END',
        seed: 7,
        frequency_penalty: 0.5,
        presence_penalty: 0,
        n: 1,
        logprobs: false,
        modalities: ['text'],
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
      },
      google,
    )
    expect(options).toMatchObject({
      maxOutputTokens: 50,
      stopSequences: ['END'],
      seed: 7,
      frequencyPenalty: 0.5,
      responseFormat: { type: 'json', name: 'a', schema },
    })
    expect(options).not.toHaveProperty('presencePenalty')
  })

  it.each([google, compatible])('ask for an answer by a schema or without one: %j', async model => {
    const format = { type: 'json_schema', name: 'a', schema, strict: false }
    const bySchema = await ask('responses', { text: { format } }, model)
    expect(bySchema.responseFormat).toEqual({ type: 'json', name: 'a', schema })
    const { responseFormat } = await ask('responses', { text: { format: { type: 'json_object' } } }, model)
    expect(responseFormat).toEqual({ type: 'json' })
    if (model === google) return
    expect(bySchema.providerOptions).toEqual({ openaiCompatible: { strictJsonSchema: false } })
  })

  it('carry the end user, and an output limit if the provider requires one', async () => {
    const options = await ask('responses', { safety_identifier: 'person', user: 'u' })
    expect(options.providerOptions).toEqual({ anthropic: { metadata: { userId: 'person' } } })
    expect(options.maxOutputTokens).toBe(8192)
  })

  const anthropic = {}
  it.each([
    ['responses', { store: true }, 'store', anthropic],
    ['responses', { include: ['reasoning.encrypted_content', 'message.output_text.logprobs'] }, 'include', anthropic],
    ['responses', { truncation: 'auto' }, 'truncation', anthropic],
    ['responses', { max_tool_calls: 3 }, 'max_tool_calls', anthropic],
    ['responses', { top_logprobs: 2 }, 'top_logprobs', anthropic],
    ['responses', { text: { format: { type: 'json_schema', name: 'a', schema: 1 } } }, 'text.format.schema', google],
    ['responses', { text: { format: { type: 'json_object' } } }, 'text.format', anthropic],
    ['responses', { text: { format: { type: 'grammar' } } }, 'text.format.type', google],
    ['responses', { text: { verbosity: 'low' } }, 'text.verbosity', anthropic],
    ['responses', { reasoning: { effort: 'huge' } }, 'reasoning.effort', anthropic],
    ['responses', { reasoning: { mode: 'pro' } }, 'reasoning.mode', anthropic],
    ['responses', { service_tier: 'priority' }, 'service_tier', anthropic],
    ['responses', { service_tier: 'scale' }, 'service_tier', google],
    ['responses', { service_tier: 'constructor' }, 'service_tier', google],
    ['responses', { temperature: 1.5 }, 'temperature', anthropic],
    ['responses', { temperature: 0.5, reasoning: { effort: 'low' } }, 'temperature', anthropic],
    ['responses', { temperature: 0.5, top_p: 0.5 }, 'top_p', anthropic],
    ['responses', { stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation', google],
    ['chat', { n: 2 }, 'n', anthropic],
    ['chat', { logprobs: true }, 'logprobs', anthropic],
    ['chat', { logit_bias: { 7: 1 } }, 'logit_bias', google],
    ['chat', { modalities: ['text', 'audio'] }, 'modalities', google],
    ['chat', { functions: [{ name: 'x' }] }, 'functions', google],
    ['chat', { web_search_options: {} }, 'web_search_options', google],
    ['chat', { store: true }, 'store', google],
    ['chat', { seed: 1 }, 'seed', anthropic],
    ['chat', { frequency_penalty: 1 }, 'frequency_penalty', anthropic],
    ['chat', { presence_penalty: 1 }, 'presence_penalty', anthropic],
    ['chat', { response_format: { type: 'json_object' } }, 'response_format', anthropic],
    ['chat', { response_format: { type: 'grammar' } }, 'response_format.type', google],
    ['chat', { verbosity: 'low' }, 'verbosity', google],
  ] as const)('of %s refuse %j by name', async (wire, body, param, model) => {
    await expect(ask(wire, body, model)).rejects.toMatchObject({ status: 400, code: 'invalid_request', param })
  })
})

describe('members that OpenAI does not document', () => {
  const chatCall = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
  const turn = { role: 'assistant', content: 'x' }
  const text = { type: 'text', text: 'x' }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const chatFn = { type: 'function', function: { name: 'look', parameters: schema } }
  it.each([
    ['chat', { messages: [{ ...user('x'), x: 1 }] }, 'messages[0].x'],
    ['chat', { messages: [user('x'), { ...turn, tool_call_id: 'a' }] }, 'messages[1].tool_call_id'],
    ['chat', { messages: [{ role: 'system', content: [{ ...text, x: 0 }] }] }, 'messages[0].content[0].x'],
    ['chat', { messages: [user([text, { ...text, image_url: 'x' }])] }, 'messages[0].content[1].image_url'],
    [
      'chat',
      { messages: [user([{ ...image, image_url: { ...image.image_url, x: 1 } }])] },
      'messages[0].content[0].image_url.x',
    ],
    ['chat', { messages: [{ ...turn, tool_calls: [{ ...chatCall, x: 1 }] }] }, 'messages[0].tool_calls[0].x'],
    [
      'chat',
      { messages: [{ ...turn, tool_calls: [{ ...chatCall, function: { ...chatCall.function, x: 1 } }] }] },
      'messages[0].tool_calls[0].function.x',
    ],
    ['chat', { tools: [{ ...chatFn, x: 1 }] }, 'tools[0].x'],
    ['chat', { tools: [{ ...chatFn, function: { ...chatFn.function, x: 1 } }] }, 'tools[0].function.x'],
    ['responses', { input: [{ ...user('x'), x: 1 }] }, 'input[0].x'],
    ['responses', { input: [user([{ type: 'input_text', text: 'x', x: 1 }])] }, 'input[0].content[0].x'],
    [
      'responses',
      { input: [{ ...turn, content: [{ type: 'output_text', text: 'x', prefix: true }] }] },
      'input[0].content[0].prefix',
    ],
    ['responses', { input: [user('x'), { ...call('a'), x: 1 }, output('a')] }, 'input[1].x'],
    ['responses', { input: [user('x'), call('a'), { ...output('a'), x: 1 }] }, 'input[2].x'],
    ['responses', { input: [user('x'), { type: 'reasoning', summary: [], x: 1 }] }, 'input[1].x'],
    [
      'responses',
      { input: [user('x'), call('a'), output('a', [{ type: 'input_text', text: 'x', x: 1 }])] },
      'input[2].output[0].x',
    ],
    ['responses', { tools: [{ ...fn, x: 1 }] }, 'tools[0].x'],
    ['responses', { tools: [{ ...fn, constructor: 1 }] }, 'tools[0].constructor'],
  ] as const)('of %s are refused by their path: %j', async (wire, body, param) => {
    await expect(ask(wire, body)).rejects.toMatchObject({ status: 400, code: 'invalid_request', param })
  })

  const asking = { cache_control: { type: 'ephemeral' }, id: 'a', name: 'look', annotations: [{ type: 'x' }], index: 0 }
  it.each([
    ['chat', { messages: [{ ...user([{ ...text, ...asking, role: 'user' }]), ...asking, x: null, y: [], z: {} }] }],
    ['chat', { messages: [{ role: 'system', content: 'x', ...asking }, user('x')] }],
    ['chat', { messages: [user('x')], tools: [{ ...chatFn, cache_control: { type: 'ephemeral' } }] }],
    [
      'chat',
      {
        messages: [
          user('x'),
          {
            ...turn,
            content: [{ ...text, role: 'assistant', annotations: [], logprobs: [] }],
            extra_content: { other: 1 },
            reasoning_details: [{ type: 'x' }],
            thinking_blocks: [{ type: 'thinking' }],
            provider_specific_fields: { a: 1 },
            tool_calls: [{ ...chatCall, index: 0, provider_specific_fields: { a: 1 } }],
          },
          { role: 'tool', tool_call_id: 'a', content: [{ ...text, ...asking }], ...asking, status: 'success' },
        ],
      },
    ],
    ['responses', { input: [{ ...user([{ type: 'input_text', text: 'x', ...asking }]), ...asking }] }],
    [
      'responses',
      {
        input: [
          user('x'),
          { ...call('a'), ...asking, name: 'look', status: 'completed' },
          { ...output('a'), ...asking, metadata: { a: 1 } },
          { type: 'reasoning', summary: [], ...asking, signature: 'x' },
        ],
      },
    ],
  ] as const)('of %s are left out if they ask nothing of a model: %j', async (wire, body) => {
    const { prompt } = await ask(wire, body)
    expect(JSON.stringify(prompt)).not.toMatch(/cache_control|annotations|reasoning_details|other/)
  })

  it('do not include those of an answer that is sent back', async () => {
    const answered = {
      ...turn,
      refusal: null,
      annotations: [],
      reasoning_content: 'Hm',
      parsed: null,
      tool_calls: [chatCall],
    }
    const { prompt } = await ask('chat', {
      messages: [user('x'), answered, { role: 'tool', tool_call_id: 'a', content: 'x' }],
    })
    expect(prompt.map(message => message.role)).toEqual(['user', 'assistant', 'tool'])
  })
})
