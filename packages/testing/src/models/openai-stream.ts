import assert from 'node:assert/strict'

type Json = Record<string, unknown>

/** An event of a stream: its data and, if it has one, its name. */
export interface StreamEvent {
  readonly event: string | undefined
  readonly data: string
}

/** Parses a whole server-sent event stream. */
export function readEvents(text: string): StreamEvent[] {
  assert.ok(text === '' || text.endsWith('\n\n'), 'the last event is whole')
  return text
    .split('\n\n')
    .filter(block => block !== '' && !block.startsWith(':'))
    .map(block => {
      const fields = block.split('\n').map(line => {
        const at = line.indexOf(': ')
        return [line.slice(0, at), line.slice(at + 2)] as const
      })
      const data = fields.filter(([name]) => name === 'data').map(([, value]) => value)
      return { event: fields.find(([name]) => name === 'event')?.[1], data: data.join('\n') }
    })
}

const terminals = ['response.completed', 'response.incomplete', 'response.failed']

interface OpenPart {
  readonly kind: 'text' | 'summary'
  text: string
  isDone: boolean
}

interface OpenItem {
  readonly item: Json
  readonly index: number
  readonly parts: Map<number, OpenPart>
  readonly closed: Set<number>
  args: string
  argsDone: boolean
}

/**
 * The life of a streamed response, as a machine: `created`, `in_progress`, items, one terminal event, nothing.
 *
 * | state of an item | takes | becomes |
 * |---|---|---|
 * | none | `output_item.added` at the next index | open |
 * | open, message | `content_part.added`, `output_text.delta`, `.done` with their sum, `content_part.done` | open |
 * | open, reasoning | the same of `reasoning_summary_*` | open |
 * | open, call | `function_call_arguments.delta`, `.done` with their sum | open |
 * | open, its parts closed | `output_item.done` with the same id | done |
 * | done | nothing | |
 *
 * A response that completed or is incomplete has every item done, and its `output` is the sum of the items. One that
 * failed may leave items open.
 * @returns the final response
 */
export function checkResponsesStream(text: string): Json {
  const events = readEvents(text)
  const items = new Map<number, OpenItem>()
  const done = new Map<number, Json>()
  let id: unknown
  let final: Json | undefined
  for (const [at, { event, data }] of events.entries()) {
    assert.notEqual(data, '[DONE]', 'Responses have no [DONE]')
    assert.equal(final, undefined, 'nothing follows the terminal event')
    const body = JSON.parse(data) as Json
    const type = body['type'] as string
    assert.equal(event, type, 'an event is named by its type')
    assert.equal(body['sequence_number'], at, 'numbers rise by one')
    if (at === 0) assert.equal(type, 'response.created')
    if (at === 1) assert.equal(type, 'response.in_progress')
    if (at > 1) assert.ok(type !== 'response.created' && type !== 'response.in_progress', 'a response begins once')
    if (body['response'] !== undefined) {
      const response = body['response'] as Json
      checkResource(response)
      id ??= response['id']
      assert.equal(response['id'], id, 'it is the same response')
      assert.equal(response['status'], at < 2 ? 'in_progress' : type.slice('response.'.length))
      if (terminals.includes(type)) final = response
      continue
    }
    takeItemEvent(type, body, items, done)
  }
  assert.ok(final, 'there is a terminal event')
  const output = final['output'] as Json[]
  assert.equal(output.length, items.size + done.size, 'every item is in the output')
  for (const [index, item] of done) assert.deepEqual(output[index], item, 'an item stays as it was done')
  if (final['status'] !== 'failed') assert.equal(items.size, 0, 'every item is done')
  for (const { index, item } of items.values()) {
    assert.equal(output[index]?.['id'], item['id'])
    assert.equal(output[index]?.['status'], 'incomplete')
  }
  return final
}

function takeItemEvent(type: string, body: Json, items: Map<number, OpenItem>, done: Map<number, Json>): void {
  const index = body['output_index'] as number
  if (type === 'response.output_item.added') {
    assert.equal(index, items.size + done.size, 'an item takes the next index')
    const item = body['item'] as Json
    assert.equal(typeof item['id'], 'string')
    items.set(index, { item, index, parts: new Map(), closed: new Set(), args: '', argsDone: false })
    return
  }
  const open = items.get(index)
  assert.ok(open, `${type} is of an open item`)
  if (type === 'response.output_item.done') {
    const item = body['item'] as Json
    assert.equal(item['id'], open.item['id'])
    assert.equal(item['type'], open.item['type'])
    assert.equal(open.parts.size, 0, 'its parts are done')
    if (item['type'] === 'function_call') {
      assert.ok(open.argsDone, 'its arguments are done')
      assert.equal(item['arguments'], open.args)
      assert.ok(item['call_id'] && item['name'])
    }
    const parts = (item['type'] === 'message' ? item['content'] : (item['summary'] ?? [])) as unknown[]
    assert.equal(parts.length, open.closed.size, 'it has the parts that were told')
    items.delete(index)
    done.set(index, item)
    return
  }
  assert.equal(body['item_id'], open.item['id'])
  takePartEvent(type, body, open)
}

function takePartEvent(type: string, body: Json, open: OpenItem): void {
  const kind = open.item['type']
  const at = (body['content_index'] ?? body['summary_index'] ?? 0) as number
  const part = open.parts.get(at)
  switch (type) {
    case 'response.content_part.added':
    case 'response.reasoning_summary_part.added': {
      const text = type === 'response.content_part.added'
      assert.equal(kind, text ? 'message' : 'reasoning')
      assert.equal(at, open.closed.size + open.parts.size, 'a part takes the next index')
      const added = body['part'] as Json
      if (text) assert.deepEqual(added, { type: 'output_text', annotations: [], logprobs: [], text: '' })
      else assert.deepEqual(added, { type: 'summary_text', text: '' })
      open.parts.set(at, { kind: text ? 'text' : 'summary', text: '', isDone: false })
      return
    }
    case 'response.output_text.delta':
    case 'response.reasoning_summary_text.delta':
      assert.ok(part && !part.isDone, 'a delta is of an open part')
      assert.equal(part.kind, type === 'response.output_text.delta' ? 'text' : 'summary')
      if (part.kind === 'text') assert.deepEqual(body['logprobs'], [])
      part.text += body['delta']
      return
    case 'response.output_text.done':
    case 'response.reasoning_summary_text.done':
      assert.ok(part && !part.isDone, 'a text is done once')
      assert.equal(body['text'], part.text, 'a text is the sum of its deltas')
      part.isDone = true
      return
    case 'response.content_part.done':
    case 'response.reasoning_summary_part.done':
      assert.ok(part?.isDone, 'a part ends after its text')
      assert.equal((body['part'] as Json)['text'], part.text)
      open.parts.delete(at)
      open.closed.add(at)
      return
    case 'response.function_call_arguments.delta':
      assert.equal(kind, 'function_call')
      assert.ok(!open.argsDone)
      open.args += body['delta']
      return
    case 'response.function_call_arguments.done':
      assert.equal(kind, 'function_call')
      assert.ok(!open.argsDone)
      assert.equal(body['arguments'], open.args, 'arguments are the sum of their deltas')
      open.argsDone = true
      return
    default:
      assert.fail(`${type} is not an event that is expected`)
  }
}

/** Fields that the official clients rely on, or that the Open Responses schema requires. */
const resourceFields = [
  'background',
  'completed_at',
  'created_at',
  'error',
  'frequency_penalty',
  'id',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'metadata',
  'model',
  'object',
  'output',
  'max_tool_calls',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'status',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'usage',
  'user',
]

/** Fields that the Open Responses schema does not let be null. */
const numbers = ['frequency_penalty', 'presence_penalty', 'temperature', 'top_logprobs', 'top_p']

/** Checks that a response resource is complete, whatever its state. */
export function checkResource(response: Json): void {
  for (const field of resourceFields) assert.ok(field in response, `a response has ${field}`)
  for (const field of numbers) assert.equal(typeof response[field], 'number', `${field} is a number`)
  assert.equal(response['object'], 'response')
  const texts = (response['output'] as Json[])
    .filter(item => item['type'] === 'message')
    .flatMap(item => (item['content'] as Json[]).map(part => part['text']))
  assert.equal(response['output_text'], texts.join(''))
  assert.equal(response['incomplete_details'] !== null, response['status'] === 'incomplete')
  assert.equal(response['error'] !== null, response['status'] === 'failed')
}

/** The sum of a stream of chunks. */
export interface ChatStream {
  readonly content: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[]
  readonly finishReason: string | undefined
  readonly usage: unknown
  /** The error that ended the stream. */
  readonly error: Json | undefined
}

/**
 * The life of a streamed chat completion, as a machine: the role; content, and fragments of calls, each of which is
 * named by its first fragment at the next index; one reason to finish; usage, if the request asked for it; `[DONE]`. An
 * error may come at any time after the role and ends the stream.
 */
export function checkChatStream(text: string, options: { readonly includeUsage?: boolean } = {}): ChatStream {
  const events = readEvents(text)
  const calls: { id: string; name: string; args: string }[] = []
  let content = ''
  let finishReason: string | undefined
  let usage: unknown
  let error: Json | undefined
  let ended = false
  let head: Json | undefined
  for (const [at, { event, data }] of events.entries()) {
    assert.equal(event, undefined, 'chunks have no name')
    assert.ok(!ended, 'nothing follows the end')
    if (data === '[DONE]') {
      assert.ok(finishReason, 'there was a reason to finish')
      if (options.includeUsage) assert.ok(usage, 'usage came before [DONE]')
      ended = true
      continue
    }
    const chunk = JSON.parse(data) as Json
    if (chunk['error'] !== undefined) {
      error = chunk['error'] as Json
      assert.ok(error['message'] && error['code'] && error['type'] && 'param' in error)
      ended = true
      continue
    }
    assert.equal(chunk['object'], 'chat.completion.chunk')
    head ??= chunk
    for (const field of ['id', 'created', 'model']) assert.equal(chunk[field], head[field], `${field} stays the same`)
    const choices = chunk['choices'] as Json[]
    if (choices.length === 0) {
      assert.ok(options.includeUsage && finishReason && !usage, 'usage comes once, last, when asked for')
      usage = chunk['usage']
      continue
    }
    assert.equal(choices.length, 1)
    assert.equal(chunk['usage'] ?? null, null)
    assert.equal(finishReason, undefined, 'the reason to finish is the last of its choice')
    const [choice = {}] = choices
    assert.equal(choice['index'], 0)
    const delta = choice['delta'] as Json
    assert.equal(delta['role'], at === 0 ? 'assistant' : undefined, 'the role comes first, and once')
    content += (delta['content'] as string | undefined) ?? ''
    for (const fragment of (delta['tool_calls'] ?? []) as Json[]) takeFragment(fragment, calls)
    if (choice['finish_reason'] !== null) finishReason = choice['finish_reason'] as string
  }
  assert.ok(ended, 'there is an end')
  if (finishReason !== undefined)
    assert.equal(
      finishReason === 'tool_calls',
      calls.length > 0 && finishReason !== 'length' && finishReason !== 'content_filter',
    )
  return { content, calls, finishReason, usage, error }
}

function takeFragment(fragment: Json, calls: { id: string; name: string; args: string }[]): void {
  const index = fragment['index'] as number
  const called = fragment['function'] as Json
  if (index === calls.length) {
    assert.ok(fragment['id'] && fragment['type'] === 'function' && called['name'], 'the first fragment names the call')
    assert.ok(!calls.some(call => call.id === fragment['id']), 'calls have ids of their own')
    calls.push({ id: fragment['id'] as string, name: called['name'] as string, args: '' })
  } else {
    assert.ok(index < calls.length, 'a call takes the next index')
    assert.ok(!('id' in fragment) && !('name' in called), 'only the first fragment names the call')
  }
  const call = calls[index]
  assert.ok(call)
  call.args += called['arguments']
}
