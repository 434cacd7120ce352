/** The model's reply to one request: a thought, text, and tool calls. */
export interface ModelReply {
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>> }[]
  /** True if the limit of output tokens stopped it. */
  readonly cut?: boolean
}

let replies = 0

/** Returns a reply as the frames of a Responses stream, including the final one. */
export function framesOf({ thinking, text, calls = [], cut = false }: ModelReply): string[] {
  replies += 1
  const items = [
    ...(thinking === undefined ? [] : [reasoning(thinking)]),
    ...(text === undefined ? [] : [message(text)]),
    ...calls.map(({ name, args }, index) => functionCall(`${replies}_${index}`, name, JSON.stringify(args))),
  ]
  const response = (status: string) => ({
    id: `resp_${replies}`,
    object: 'response',
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output: status === 'in_progress' ? [] : items.map(({ item }) => item),
    usage:
      status === 'in_progress'
        ? null
        : {
            input_tokens: 100,
            input_tokens_details: { cached_tokens: 40 },
            output_tokens: 10,
            output_tokens_details: { reasoning_tokens: 4 },
            total_tokens: 110,
          },
  })
  const end = cut ? 'incomplete' : 'completed'
  const events: Readonly<Record<string, unknown>>[] = [
    { type: 'response.created', response: response('in_progress') },
    ...items.flatMap(({ item, begun, parts }, output_index) => [
      { type: 'response.output_item.added', output_index, item: begun },
      ...parts.map(part => ({ ...part, item_id: item.id, output_index })),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: `response.${end}`, response: response(end) },
  ]
  return events.map(
    (event, sequence_number) => `event: ${event['type']}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
  )
}

/** An output item: complete, as it begins, and the events in between. */
interface Item {
  readonly item: Readonly<Record<string, unknown>>
  readonly begun: Readonly<Record<string, unknown>>
  readonly parts: readonly Readonly<Record<string, unknown>>[]
}

/** Splits a text in two, so that the engine has pieces to join. */
function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter(part => part !== '')
}

function reasoning(text: string): Item {
  const item = { id: `rs_${replies}`, type: 'reasoning', encrypted_content: `sealed ${text}` }
  const summary = [{ type: 'summary_text', text }]
  return {
    item: { ...item, summary },
    begun: { ...item, summary: [] },
    parts: [
      { type: 'response.reasoning_summary_part.added', summary_index: 0, part: { type: 'summary_text', text: '' } },
      ...halves(text).map(delta => ({ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta })),
      { type: 'response.reasoning_summary_part.done', summary_index: 0, part: summary[0] },
    ],
  }
}

function message(text: string): Item {
  const item = { id: `msg_${replies}`, type: 'message', role: 'assistant' }
  const part = (content: string) => ({ type: 'output_text', text: content, annotations: [] })
  return {
    item: { ...item, status: 'completed', content: [part(text)] },
    begun: { ...item, status: 'in_progress', content: [] },
    parts: [
      { type: 'response.content_part.added', content_index: 0, part: part('') },
      ...halves(text).map(delta => ({ type: 'response.output_text.delta', content_index: 0, delta })),
      { type: 'response.output_text.done', content_index: 0, text },
      { type: 'response.content_part.done', content_index: 0, part: part(text) },
    ],
  }
}

function functionCall(id: string, name: string, json: string): Item {
  const item = { id: `fc_${id}`, type: 'function_call', call_id: `call_${id}`, name }
  return {
    item: { ...item, status: 'completed', arguments: json },
    begun: { ...item, status: 'in_progress', arguments: '' },
    parts: [
      ...halves(json).map(delta => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', name, arguments: json },
    ],
  }
}
