import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { GatewayUsage, TranslatedCall } from '@berth/core/accounting/upstream.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { type Kept, sealReasoning, signatureOf } from '../formats/sealed-reasoning.ts'
import type { AnswerSink, CallKey, Outcome } from './answer-reader.ts'
import { type ResponseProgress, ResponseResource } from './response-resource.ts'

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

interface Item {
  readonly id: string
  readonly index: number
  status: ItemStatus
}

interface Message extends Item {
  text: string
}

interface Reasoning extends Item {
  text: string
  /** Whether its summary has begun; it waits for the first delta. */
  written: boolean
  sealed: string | null
}

interface FunctionCall extends Item, CallKey {
  args: string
}

/**
 * Writes an answer as a Responses stream, and as the resource that the events add up to. An item is added; its parts
 * are added, grow and are done; then the item is done. Sequence numbers rise by one from event to event. An item's
 * index is its place in `output`. Items that a failure leaves open become `incomplete` and get no done event.
 */
export class ResponsesWriter implements AnswerSink {
  readonly #call: TranslatedCall
  readonly #resource: ResponseResource
  /** Renders each item's current state, by index. */
  readonly #output: (() => Json)[] = []
  readonly #reasonings = new Map<object, Reasoning>()
  readonly #calls = new Map<CallKey, FunctionCall>()
  /** Calls whose signature was written before them. */
  readonly #kept = new Set<CallKey>()
  readonly #streamed: boolean
  #message: Message | undefined
  #frames = ''
  #sequence = 0
  #outputText = ''

  constructor(call: TranslatedCall, streamed: boolean) {
    this.#call = call
    this.#streamed = streamed
    this.#resource = new ResponseResource(call, this.#now())
  }

  begin(): void {
    const progress = this.#progress('in_progress', null)
    this.#emitResponse('response.created', progress)
    this.#emitResponse('response.in_progress', progress)
  }

  /** Returns the frames since the last call. */
  take(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }

  text(delta: string): void {
    const message = this.#message ?? this.#addMessage()
    message.text += delta
    this.#outputText += delta
    this.#emit('response.output_text.delta', message, () => ({ content_index: 0, delta, logprobs: [] }))
  }

  textEnd(metadata: SharedV4ProviderMetadata | undefined): void {
    const message = this.#message
    this.#message = undefined
    if (message !== undefined) {
      message.status = 'completed'
      const { text } = message
      this.#emit('response.output_text.done', message, () => ({ content_index: 0, text, logprobs: [] }))
      this.#emit('response.content_part.done', message, () => ({ content_index: 0, part: textPart(text) }))
      this.#done(message)
    }
    const signature = signatureOf(metadata)
    if (signature !== undefined) this.#addKept({ on: 'text', metadata: signature })
  }

  reasoningBegin(key: object): void {
    const item: Reasoning = { ...this.#item('rs'), text: '', written: false, sealed: null }
    this.#reasonings.set(key, item)
    this.#add(item, () => reasoningItem(item))
  }

  reasoning(key: object, delta: string): void {
    const item = this.#reasonings.get(key)
    if (item === undefined) return
    if (!item.written) {
      item.written = true
      this.#emit('response.reasoning_summary_part.added', item, () => ({ summary_index: 0, part: summaryPart('') }))
    }
    item.text += delta
    this.#emit('response.reasoning_summary_text.delta', item, () => ({ summary_index: 0, delta }))
  }

  reasoningEnd(key: object, text: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const item = this.#reasonings.get(key)
    if (item === undefined) return
    this.#reasonings.delete(key)
    item.status = 'completed'
    item.sealed = sealReasoning({ on: 'reasoning', text, ...(metadata && { metadata }) }, this.#call)
    if (item.written) {
      this.#emit('response.reasoning_summary_text.done', item, () => ({ summary_index: 0, text }))
      this.#emit('response.reasoning_summary_part.done', item, () => ({ summary_index: 0, part: summaryPart(text) }))
    }
    this.#done(item)
  }

  /** Writes a call's signature as a reasoning item before the call. A signature that arrives later follows the call. */
  callBegin(key: CallKey, metadata: SharedV4ProviderMetadata | undefined): void {
    this.#keepOfCall(key, metadata)
    const { callId, name } = key
    const item: FunctionCall = { ...this.#item('fc'), callId, name, args: '' }
    this.#calls.set(key, item)
    this.#add(item, () => callItem(item))
  }

  callArguments(key: CallKey, delta: string): void {
    const item = this.#calls.get(key)
    if (item === undefined) return
    item.args += delta
    this.#emit('response.function_call_arguments.delta', item, () => ({ delta }))
  }

  callEnd(key: CallKey, args: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const item = this.#calls.get(key)
    if (item === undefined) return
    this.#calls.delete(key)
    item.status = isJson(args) ? 'completed' : 'incomplete'
    this.#emit('response.function_call_arguments.done', item, () => ({ arguments: args }))
    this.#done(item)
    if (!this.#kept.has(key)) this.#keepOfCall(key, metadata)
  }

  /** Ends the response. Nothing may follow. */
  end(outcome: Outcome, usage: GatewayUsage | null): Json {
    const progress = this.#finished(outcome, usage)
    this.#emitResponse(`response.${progress.status}`, progress)
    return this.#streamed ? {} : this.#resource.object(progress)
  }

  #finished(outcome: Outcome, usage: GatewayUsage | null): ResponseProgress {
    if (outcome.status === 'completed') return { ...this.#progress('completed', usage), completedAt: this.#now() }
    if (outcome.status === 'incomplete') {
      return { ...this.#progress('incomplete', usage), incompleteReason: outcome.reason }
    }
    for (const item of [this.#message, ...this.#reasonings.values(), ...this.#calls.values()]) {
      if (item !== undefined) item.status = 'incomplete'
    }
    const { code, message } = outcome.error
    const known = code === 'upstream_rate_limited' ? 'rate_limit_exceeded' : 'server_error'
    return { ...this.#progress('failed', usage), error: { code: known, message } }
  }

  #keepOfCall(key: CallKey, metadata: SharedV4ProviderMetadata | undefined): void {
    const signature = signatureOf(metadata)
    if (signature === undefined) return
    this.#kept.add(key)
    this.#addKept({ on: 'call', callId: key.callId, metadata: signature })
  }

  #addKept(kept: Kept): void {
    const item: Reasoning = { ...this.#item('rs'), text: '', written: false, sealed: null }
    this.#add(item, () => reasoningItem(item))
    item.status = 'completed'
    item.sealed = sealReasoning(kept, this.#call)
    this.#done(item)
  }

  #addMessage(): Message {
    const message: Message = { ...this.#item('msg'), text: '' }
    this.#message = message
    let begun = false
    this.#add(message, () => messageItem(message, begun))
    begun = true
    this.#emit('response.content_part.added', message, () => ({ content_index: 0, part: textPart('') }))
    return message
  }

  #item(prefix: string): Item {
    return { id: this.#call.ids(prefix), index: this.#output.length, status: 'in_progress' }
  }

  #add(item: Item, render: () => Json): void {
    this.#output.push(render)
    this.#emitItem('response.output_item.added', item)
  }

  #done(item: Item): void {
    this.#emitItem('response.output_item.done', item)
  }

  #emitItem(type: string, { index }: Item): void {
    if (!this.#streamed) return
    this.#write(type, { output_index: index, item: this.#output[index]?.() })
  }

  #emit(type: string, { id, index }: Item, fields: () => Json): void {
    if (this.#streamed) this.#write(type, { item_id: id, output_index: index, ...fields() })
  }

  #emitResponse(type: string, progress: ResponseProgress): void {
    if (!this.#streamed) return
    this.#frames += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},"response":${this.#resource.text(progress)}}\n\n`
  }

  #write(type: string, fields: Json): void {
    this.#frames += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })}\n\n`
  }

  #progress(status: ResponseProgress['status'], usage: GatewayUsage | null): ResponseProgress {
    const output = this.#output.map(render => render())
    return { status, output, outputText: this.#outputText, usage, completedAt: null }
  }

  #now(): number {
    return Math.floor(this.#call.clock.now().getTime() / 1000)
  }
}

const textPart = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
const summaryPart = (text: string) => ({ type: 'summary_text', text })

function messageItem({ id, status, text }: Message, begun: boolean): Json {
  return { id, type: 'message', status, role: 'assistant', content: begun ? [textPart(text)] : [] }
}

function reasoningItem({ id, status, text, written, sealed }: Reasoning): Json {
  return { id, type: 'reasoning', status, summary: written ? [summaryPart(text)] : [], encrypted_content: sealed }
}

function callItem({ id, status, callId, name, args }: FunctionCall): Json {
  return { id, type: 'function_call', status, call_id: callId, name, arguments: args }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
