import type { ModelReply, ModelRequest, WireFormat } from './model-server.ts'

interface Block {
  readonly type: string
  readonly [field: string]: unknown
}

/** Anthropic's `messages`, complete or as server-sent events. */
export const anthropicWire: WireFormat = {
  asksForReply: ({ method, path }) => method === 'POST' && /^(\/v1)?\/messages(\?|$)/.test(path),

  write(reply, request, response) {
    const { model, stream } = (request.body ?? {}) as { readonly model?: string; readonly stream?: boolean }
    if (stream !== true) {
      const body = {
        ...message(model),
        content: blocksOf(reply),
        stop_reason: stopReason(reply),
        usage: anthropicUsage,
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const frame of anthropicFrames(reply, model)) response.write(frame)
    response.end()
  },
}

/** Usage that the scripted model reports. */
export const anthropicUsage = { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 10 } as const

/** A streamed reply, one event per frame. */
export function anthropicFrames(reply: ModelReply, model = 'scripted'): string[] {
  const opening = { ...message(model), content: [], stop_reason: null, usage: { ...anthropicUsage, output_tokens: 1 } }
  return [
    event({ type: 'message_start', message: opening }),
    event({ type: 'ping' }),
    ...blocksOf(reply).flatMap(blockFrames),
    event({
      type: 'message_delta',
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: { output_tokens: 10 },
    }),
    event({ type: 'message_stop' }),
  ]
}

/** Lists the roles of a request's messages and the types of their contents. */
export function anthropicTranscript(request: ModelRequest | undefined): string[] {
  type Message = { readonly role: string; readonly content: string | readonly Block[] }
  const { messages } = (request?.body ?? { messages: [] }) as { readonly messages: readonly Message[] }
  return messages.map(({ role, content }) => {
    const types = typeof content === 'string' ? ['text'] : content.map(block => block.type)
    return `${role}: ${types.join(' ')}`
  })
}

const message = (model = 'scripted') => ({
  id: 'msg_scripted',
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
})

function stopReason({ calls = [], cut }: ModelReply): string {
  if (cut) return 'max_tokens'
  return calls.length > 0 ? 'tool_use' : 'end_turn'
}

let made = 0

function blocksOf({ text, calls = [], thinking }: ModelReply): Block[] {
  return [
    ...(thinking ? [{ type: 'thinking', thinking: thinking.text, signature: thinking.signature }] : []),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ name, args }) => ({ type: 'tool_use', id: `toolu_${++made}`, name, input: args })),
  ]
}

function blockFrames(block: Block, index: number): string[] {
  const delta = (fields: object) => event({ type: 'content_block_delta', index, delta: fields })
  const start = (content_block: object) => event({ type: 'content_block_start', index, content_block })
  const stop = event({ type: 'content_block_stop', index })
  switch (block.type) {
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...halves(block['thinking']).map(thinking => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: block['signature'] }),
        stop,
      ]
    case 'text':
      return [
        start({ type: 'text', text: '' }),
        ...halves(block['text']).map(text => delta({ type: 'text_delta', text })),
        stop,
      ]
    default:
      return [
        start({ ...block, input: {} }),
        ...halves(JSON.stringify(block['input'])).map(partial_json =>
          delta({ type: 'input_json_delta', partial_json }),
        ),
        stop,
      ]
  }
}

/** Splits text in two, so that clients have to join the halves. */
function halves(text: unknown): string[] {
  const whole = String(text)
  const middle = Math.ceil(whole.length / 2)
  return [whole.slice(0, middle), whole.slice(middle)].filter(half => half !== '')
}

const event = (data: Block): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
