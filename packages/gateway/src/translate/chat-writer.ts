import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { type GatewayUsage, noUsage, type TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { type Sealing, sealReasoning, signatureOf } from '../formats/sealed-reasoning.ts'
import type { AnswerSink, CallKey, Outcome } from './answer-reader.ts'
import { chatUsage } from './usage.ts'

interface ToolCall {
  readonly index: number
  readonly key: CallKey
  /** The sealed signature that the provider needs back with the call. */
  readonly sealed: string | undefined
  args: string
}

/**
 * Writes an answer as Chat Completions, streamed or whole. The role comes first. A call's id and name come only with
 * its first fragment. The finish reason comes once. A failure after the first byte is a `data:` error, and no `[DONE]`
 * follows it.
 */
export class ChatWriter implements AnswerSink {
  readonly #streamed: boolean
  readonly #includeUsage: boolean
  readonly #fixed: { readonly id: string; readonly created: number; readonly model: string }
  readonly #head: string
  readonly #calls = new Map<CallKey, ToolCall>()
  readonly #tier: unknown
  readonly #sealing: Sealing
  #frames = ''
  #text = ''
  #reasoning = ''

  constructor(call: TranslatedCall, streamed: boolean) {
    const { body, model, ids, clock } = call
    this.#streamed = streamed
    this.#sealing = call
    const options = body['stream_options']
    this.#includeUsage = isObject(options) && options['include_usage'] === true
    this.#tier = body['service_tier'] ?? null
    this.#fixed = { id: ids('chatcmpl'), created: Math.floor(clock.now().getTime() / 1000), model: model.id }
    const head = { object: 'chat.completion.chunk', ...this.#fixed, service_tier: this.#tier }
    this.#head = streamed ? `data: ${JSON.stringify(head).slice(0, -1)}` : ''
  }

  begin(): void {
    this.#chunk({ role: 'assistant', content: '', refusal: null })
  }

  take(): string {
    const frames = this.#frames
    this.#frames = ''
    return frames
  }

  text(delta: string): void {
    this.#text += delta
    this.#chunk({ content: delta })
  }

  textEnd(): void {}

  reasoningBegin(): void {}

  /** Writes `reasoning_content`, which many Chat Completions clients know and OpenAI's ignore. */
  reasoning(_key: object, delta: string): void {
    this.#reasoning += delta
    this.#chunk({ reasoning_content: delta })
  }

  reasoningEnd(): void {}

  callBegin(key: CallKey, metadata: SharedV4ProviderMetadata | undefined): void {
    const signature = signatureOf(metadata)
    const sealed = signature && sealReasoning({ on: 'call', callId: key.callId, metadata: signature }, this.#sealing)
    const call: ToolCall = { index: this.#calls.size, key, sealed, args: '' }
    this.#calls.set(key, call)
    this.#chunk({ tool_calls: [{ index: call.index, ...toolCall(call) }] })
  }

  callArguments(key: CallKey, delta: string): void {
    const call = this.#calls.get(key)
    if (call === undefined) return
    call.args += delta
    this.#chunk({ tool_calls: [{ index: call.index, function: { arguments: delta } }] })
  }

  callEnd(): void {}

  end(outcome: Outcome, usage: GatewayUsage | null): Json {
    if (outcome.status === 'failed') {
      const { message, param, code } = outcome.error
      this.#frames += `data: ${JSON.stringify({ error: { message, type: 'api_error', param, code } })}\n\n`
      return {}
    }
    const reason = finishReason(outcome)
    if (!this.#streamed) return this.#whole(reason, usage)
    this.#chunk({}, reason)
    if (this.#includeUsage) {
      const reported = JSON.stringify(chatUsage(usage ?? noUsage))
      this.#frames += `${this.#head},"choices":[],"usage":${reported}}\n\n`
    }
    this.#frames += 'data: [DONE]\n\n'
    return {}
  }

  #whole(reason: string, usage: GatewayUsage | null): Json {
    const calls = [...this.#calls.values()].map(toolCall)
    const content = this.#text === '' && calls.length > 0 ? null : this.#text
    const message = {
      role: 'assistant',
      content,
      refusal: null,
      annotations: [],
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    }
    return {
      ...this.#fixed,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: reason }],
      usage: chatUsage(usage ?? noUsage),
      service_tier: this.#tier,
      system_fingerprint: null,
    }
  }

  #chunk(delta: Json, reason: string | null = null): void {
    if (!this.#streamed) return
    const choices = JSON.stringify([{ index: 0, delta, logprobs: null, finish_reason: reason }])
    this.#frames += `${this.#head},"choices":${choices}${this.#includeUsage ? ',"usage":null' : ''}}\n\n`
  }
}

/** Puts a signature into the field where clients of Gemini's Chat Completions look for it and keep it. */
function toolCall({ key, args, sealed }: ToolCall) {
  return {
    id: key.callId,
    type: 'function',
    function: { name: key.name, arguments: args },
    ...(sealed !== undefined && { extra_content: { google: { thought_signature: sealed } } }),
  }
}

function finishReason(outcome: Exclude<Outcome, { status: 'failed' }>): string {
  if (outcome.status === 'completed') return outcome.called ? 'tool_calls' : 'stop'
  return outcome.reason === 'max_output_tokens' ? 'length' : 'content_filter'
}
