import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { GatewayUsage } from '@berth/core/accounting/upstream.ts'
import { upstreamError } from '@berth/core/accounting/upstream-status.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { toFailure } from './failure.ts'
import { earlyUsage, toUsage } from './usage.ts'

/** A call in the answer. The same object serves as its key from begin to end. */
export interface CallKey {
  readonly callId: string
  readonly name: string
}

/**
 * Receives an answer in order. Every block begins before it continues, and ends once. Reasoning and calls may overlap
 * with anything. Texts never overlap, and a text ends when a call or reasoning begins.
 */
export interface AnswerSink {
  text(delta: string): void
  textEnd(metadata: SharedV4ProviderMetadata | undefined): void
  reasoningBegin(key: object): void
  reasoning(key: object, delta: string): void
  reasoningEnd(key: object, text: string, metadata: SharedV4ProviderMetadata | undefined): void
  callBegin(key: CallKey, metadata: SharedV4ProviderMetadata | undefined): void
  callArguments(key: CallKey, delta: string): void
  callEnd(key: CallKey, args: string, metadata: SharedV4ProviderMetadata | undefined): void
}

/** The way an answer ended. */
export type Outcome =
  | { readonly status: 'completed'; readonly called: boolean }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly error: UpstreamError }

interface Block {
  text: string
  metadata: SharedV4ProviderMetadata | undefined
}

interface OpenCall extends CallKey, Block {}

/**
 * Puts a provider package's stream in order. Packages overlap blocks, begin them twice, continue them before they begin
 * or never end them. Calls may share an id or arrive whole, and metadata may come on any part of a block.
 */
export class AnswerReader {
  readonly #sink: AnswerSink
  readonly #newCallId: () => string
  readonly #oneCall: boolean
  readonly #calls = new Map<string, OpenCall>()
  readonly #callIds = new Set<string>()
  readonly #ignored = new Set<string>()
  readonly #reasonings = new Map<string, Block>()
  #text: (Block & { readonly id: string }) | undefined
  #finish: LanguageModelV4FinishReason | undefined
  #failure: UpstreamError | undefined
  #usage: GatewayUsage | null = null

  constructor(sink: AnswerSink, options: { readonly newCallId: () => string; readonly oneCall: boolean }) {
    this.#sink = sink
    this.#newCallId = options.newCallId
    this.#oneCall = options.oneCall
  }

  /** The usage known so far. */
  get usage(): GatewayUsage | null {
    return this.#usage
  }

  /** Whether the answer is over, so that later parts are ignored. */
  get over(): boolean {
    return this.#finish !== undefined || this.#failure !== undefined
  }

  fail(error: unknown): void {
    if (!this.over) this.#failure = toFailure(error)
  }

  /**
   * Reads a whole answer as if it were a stream. Texts that follow each other become one: Google may send the text of an
   * answer in parts, and some clients read only the last of several messages.
   */
  content(content: readonly LanguageModelV4Content[]): void {
    for (const [at, part] of content.entries()) {
      const metadata =
        'providerMetadata' in part && part.providerMetadata ? { providerMetadata: part.providerMetadata } : {}
      if (part.type !== 'text' && part.type !== 'reasoning') {
        this.part(part)
        continue
      }
      const goesOn = part.type === 'text' && content[at - 1]?.type === 'text'
      const id = goesOn ? (this.#text?.id ?? String(at)) : String(at)
      if (!goesOn) this.part({ type: `${part.type}-start`, id, ...metadata })
      this.part({ type: `${part.type}-delta`, id, delta: part.text, ...metadata })
      if (part.type === 'reasoning' || content[at + 1]?.type !== 'text') this.part({ type: `${part.type}-end`, id })
    }
  }

  part(part: LanguageModelV4StreamPart): void {
    if (this.over) return
    switch (part.type) {
      case 'text-start':
        this.#beginText(part.id, part.providerMetadata)
        break
      case 'text-delta':
        if (this.#text?.id !== part.id) this.#beginText(part.id, undefined)
        if (part.delta !== '') this.#sink.text(part.delta)
        this.#keep(this.#text, part.providerMetadata)
        break
      case 'text-end':
        if (this.#text?.id !== part.id) return
        this.#keep(this.#text, part.providerMetadata)
        this.#endText()
        break
      case 'reasoning-start':
        if (!this.#reasonings.has(part.id)) this.#beginReasoning(part.id)
        this.#keep(this.#reasonings.get(part.id), part.providerMetadata)
        break
      case 'reasoning-delta':
        this.#reason(part.id, part.delta, part.providerMetadata)
        break
      case 'reasoning-end':
        this.#keep(this.#reasonings.get(part.id), part.providerMetadata)
        this.#endReasoning(part.id)
        break
      case 'tool-input-start':
        if (part.providerExecuted === true) this.#ignored.add(part.id)
        else if (!this.#calls.has(part.id)) this.#beginCall(part.id, part.toolName, part.providerMetadata)
        return
      case 'tool-input-delta':
        this.#continueCall(part.id, part.delta, part.providerMetadata)
        break
      case 'tool-call':
        if (part.providerExecuted === true) return
        this.#wholeCall(part.toolCallId, part.toolName, part.input, part.providerMetadata)
        break
      case 'finish':
        this.#finish = part.finishReason
        this.#usage = toUsage(part.usage) ?? this.#usage
        return
      case 'error':
        this.fail(part.error)
        break
      default:
        this.#usage = earlyUsage(part) ?? this.#usage
    }
  }

  /** Returns the outcome and ends all open blocks. After a failure they stay open. */
  end(): Outcome {
    const outcome = this.#outcome()
    if (outcome.status === 'failed') return outcome
    this.#endText()
    for (const id of this.#reasonings.keys()) this.#endReasoning(id)
    for (const id of this.#calls.keys()) this.#endCall(id)
    return outcome
  }

  #outcome(): Outcome {
    if (this.#failure !== undefined) return { status: 'failed', error: this.#failure }
    switch (this.#finish?.unified) {
      case 'length':
        return { status: 'incomplete', reason: 'max_output_tokens' }
      case 'content-filter':
        return { status: 'incomplete', reason: 'content_filter' }
      case 'stop':
      case 'tool-calls':
        return { status: 'completed', called: this.#callIds.size > 0 }
      case 'error':
        return { status: 'failed', error: upstreamError('upstream_failed', { reason: this.#finish.raw ?? '' }) }
      case 'other':
        // Without the provider's own reason, the stream was simply cut.
        if (this.#finish.raw !== undefined) return { status: 'completed', called: this.#callIds.size > 0 }
    }
    return { status: 'failed', error: upstreamError('upstream_cut') }
  }

  #keep(block: Block | undefined, metadata: SharedV4ProviderMetadata | undefined): void {
    if (block === undefined || metadata === undefined) return
    const merged = { ...block.metadata }
    for (const [name, fields] of Object.entries(metadata)) merged[name] = { ...merged[name], ...fields }
    block.metadata = merged
  }

  #beginText(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    this.#endText()
    this.#text = { id, text: '', metadata }
  }

  #endText(): void {
    if (this.#text === undefined) return
    this.#sink.textEnd(this.#text.metadata)
    this.#text = undefined
  }

  #beginReasoning(id: string): Block {
    this.#endText()
    const block: Block = { text: '', metadata: undefined }
    this.#reasonings.set(id, block)
    this.#sink.reasoningBegin(block)
    return block
  }

  #reason(id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const block = this.#reasonings.get(id) ?? this.#beginReasoning(id)
    block.text += delta
    if (delta !== '') this.#sink.reasoning(block, delta)
    this.#keep(block, metadata)
  }

  #endReasoning(id: string): void {
    const block = this.#reasonings.get(id)
    if (block === undefined) return
    this.#reasonings.delete(id)
    this.#sink.reasoningEnd(block, block.text, block.metadata)
  }

  #beginCall(id: string, name: string, metadata: SharedV4ProviderMetadata | undefined): OpenCall | undefined {
    if (this.#oneCall && this.#callIds.size > 0) {
      this.#ignored.add(id)
      return undefined
    }
    this.#ignored.delete(id)
    this.#endText()
    const callId = id === '' || this.#callIds.has(id) ? this.#newCallId() : id
    const call: OpenCall = { callId, name, text: '', metadata }
    this.#callIds.add(callId)
    this.#calls.set(id, call)
    this.#sink.callBegin(call, metadata)
    return call
  }

  #continueCall(id: string, delta: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    this.#argue(call, delta)
    this.#keep(call, metadata)
  }

  #wholeCall(id: string, name: string, input: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const open = this.#calls.get(id)
    if (open === undefined && this.#ignored.delete(id)) return
    const call = open ?? this.#beginCall(id, name, metadata)
    if (call === undefined) return
    if (input.startsWith(call.text)) this.#argue(call, input.slice(call.text.length))
    this.#keep(call, metadata)
    this.#endCall(id)
  }

  #endCall(id: string): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    this.#calls.delete(id)
    if (call.text === '') this.#argue(call, '{}')
    this.#sink.callEnd(call, call.text, call.metadata)
  }

  #argue(call: OpenCall, delta: string): void {
    if (delta === '') return
    call.text += delta
    this.#sink.callArguments(call, delta)
  }
}
