import type { ServerResponse } from 'node:http'
import type { ModelReply, ModelRequest, WireFormat } from './model-server.ts'

/** Usage that the scripted model reports. */
export const scriptedUsage = { input: 100, cached: 40, output: 10, reasoning: 4 } as const

/** OpenAI's two formats, Responses and Chat Completions, complete or as server-sent events. */
export const openaiWire: WireFormat = {
  asksForReply: ({ method, path }) => method === 'POST' && /^(\/v1)?\/(responses|chat\/completions)$/.test(path),

  write(reply, request, response) {
    if (!streams(request)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(wholeAnswer(reply, request)))
      return
    }
    beginStream(response)
    for (const frame of framesOf(reply, request)) response.write(frame)
    response.end()
  },
}

export const beginStream = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })

const bodyOf = (request: ModelRequest) =>
  (request.body ?? {}) as { model?: string; stream?: boolean; stream_options?: { include_usage?: boolean } }

export const streams = (request: ModelRequest): boolean => bodyOf(request).stream === true

const speaksChat = (request: ModelRequest): boolean => request.path.endsWith('/chat/completions')

/** Returns the answer as one JSON object. */
export function wholeAnswer(reply: ModelReply, request: ModelRequest): Record<string, unknown> {
  return speaksChat(request)
    ? chatCompletion(reply, bodyOf(request).model ?? '')
    : response(reply, request, 'completed')
}

/** Returns the answer as frames; the last frame ends it. */
export function framesOf(reply: ModelReply, request: ModelRequest): string[] {
  return speaksChat(request) ? chatFrames(reply, request) : responseFrames(reply, request)
}

/** Splits text into two parts or more, so that clients have to join them. */
function pieces(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter(piece => piece !== '')
}

const chatUsage = {
  prompt_tokens: scriptedUsage.input,
  completion_tokens: scriptedUsage.output,
  total_tokens: scriptedUsage.input + scriptedUsage.output,
  prompt_tokens_details: { cached_tokens: scriptedUsage.cached },
  completion_tokens_details: { reasoning_tokens: scriptedUsage.reasoning },
}

function chatCompletion({ text, calls = [] }: ModelReply, model: string) {
  return {
    id: 'chatcmpl-scripted',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text ?? null,
          refusal: null,
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ name, args }, index) => ({
              id: `call_${index}`,
              type: 'function',
              function: { name, arguments: JSON.stringify(args) },
            })),
          }),
        },
        logprobs: null,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: chatUsage,
    system_fingerprint: null,
  }
}

function chatFrames({ text = '', calls = [] }: ModelReply, request: ModelRequest): string[] {
  const { model = '', stream_options } = bodyOf(request)
  const chunk = (choices: unknown[], more: object = {}) =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-scripted',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model,
      choices,
      ...more,
    })}\n\n`
  const delta = (part: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: part, logprobs: null, finish_reason: finish }])
  return [
    delta({ role: 'assistant', content: '' }),
    ...pieces(text).map(content => delta({ content })),
    ...calls.flatMap(({ name, args }, index) => [
      delta({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(JSON.stringify(args)).map(part => delta({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]),
    delta({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    ...(stream_options?.include_usage === true ? [chunk([], { usage: chatUsage })] : []),
    'data: [DONE]\n\n',
  ]
}

interface OutputItem {
  readonly id: string
  readonly type: 'message' | 'function_call'
  readonly status: 'completed' | 'in_progress'
  readonly [member: string]: unknown
}

function outputItems({ text = '', calls = [] }: ModelReply): OutputItem[] {
  const message = text === '' ? [] : [messageItem(text, 'completed')]
  return [
    ...message,
    ...calls.map(
      ({ name, args }, index): OutputItem => ({
        id: `fc_${index}`,
        type: 'function_call',
        status: 'completed',
        call_id: `call_${index}`,
        name,
        arguments: JSON.stringify(args),
      }),
    ),
  ]
}

const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

const messageItem = (text: string, status: 'completed' | 'in_progress'): OutputItem => ({
  id: 'msg_0',
  type: 'message',
  status,
  role: 'assistant',
  content: status === 'completed' ? [textPart(text)] : [],
})

/** The complete response resource as OpenAI sends it: without `output_text`, which OpenAI's SDKs add. */
function response(reply: ModelReply, request: ModelRequest, status: 'completed' | 'in_progress') {
  return {
    id: 'resp_scripted',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: bodyOf(request).model,
    output: status === 'completed' ? outputItems(reply) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage:
      status === 'completed'
        ? {
            input_tokens: scriptedUsage.input,
            input_tokens_details: { cached_tokens: scriptedUsage.cached },
            output_tokens: scriptedUsage.output,
            output_tokens_details: { reasoning_tokens: scriptedUsage.reasoning },
            total_tokens: scriptedUsage.input + scriptedUsage.output,
          }
        : null,
    user: null,
    metadata: {},
  }
}

function responseFrames(reply: ModelReply, request: ModelRequest): string[] {
  const events: Record<string, unknown>[] = [
    { type: 'response.created', response: response(reply, request, 'in_progress') },
    { type: 'response.in_progress', response: response(reply, request, 'in_progress') },
    ...outputItems(reply).flatMap((item, output_index) => itemEvents(item, output_index, reply.text ?? '')),
    { type: 'response.completed', response: response(reply, request, 'completed') },
  ]
  return events.map(
    (event, sequence_number) => `event: ${event['type']}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
  )
}

function itemEvents(item: OutputItem, output_index: number, text: string): Record<string, unknown>[] {
  const at = { item_id: item.id, output_index }
  const done = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'function_call') {
    const json = String(item['arguments'])
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, status: 'in_progress', arguments: '' },
      },
      ...pieces(json).map(delta => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.function_call_arguments.done', ...at, name: item['name'], arguments: json },
      done,
    ]
  }
  const part = { ...at, content_index: 0 }
  return [
    { type: 'response.output_item.added', output_index, item: messageItem('', 'in_progress') },
    { type: 'response.content_part.added', ...part, part: textPart('') },
    ...pieces(text).map(delta => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...part, text, logprobs: [] },
    { type: 'response.content_part.done', ...part, part: textPart(text) },
    done,
  ]
}
