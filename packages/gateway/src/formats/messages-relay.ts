import { gatewayErrorBody } from '@berth/contract'
import type { ReportedUsage } from '@berth/core/accounting/upstream.ts'
import { asObject, isObject, type Json, parseObject } from '@berth/platform/kit/json.ts'
import type { UpstreamCode, UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { upstreamReason } from '../providers/upstream-reason.ts'
import { frameData } from './frame-splitter.ts'
import { count, type StreamRelay } from './stream-relay.ts'

/** Converts Anthropic's usage, which counts cache reads and cache writes apart from the input. Null if it is absent. */
export function readMessagesUsage(usage: unknown): ReportedUsage | null {
  if (!isObject(usage) || typeof usage['input_tokens'] !== 'number') return null
  const [cached, written] = [count(usage['cache_read_input_tokens']), count(usage['cache_creation_input_tokens'])]
  const details = usage['output_tokens_details']
  return {
    inputTokens: count(usage['input_tokens']) + written + cached,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    ...hourWrites(usage, written),
    outputTokens: count(usage['output_tokens']),
    reasoningTokens: isObject(details) ? count(details['thinking_tokens']) : 0,
  }
}

/** Returns how many of the tokens that Anthropic has written to its cache stay for an hour; nothing if none do. */
export function hourWrites(usage: unknown, written: number): Pick<ReportedUsage, 'hourWriteTokens'> {
  const hourWriteTokens = Math.min(
    written,
    count(asObject(asObject(usage)['cache_creation'])['ephemeral_1h_input_tokens']),
  )
  return hourWriteTokens > 0 ? { hourWriteTokens } : {}
}

/** Maps Anthropic's error type in a stream to a code. */
const codes: ReadonlyMap<string, UpstreamCode> = new Map(
  Object.entries({
    overloaded_error: 'upstream_overloaded',
    rate_limit_error: 'upstream_rate_limited',
    timeout_error: 'upstream_timeout',
  }),
)

/**
 * Relays a Messages stream. It parses a frame only if the bytes contain the name of an event that
 * matters: inside a JSON string, its quotes would be escaped. The first event carries the initial usage, a late one the
 * final usage.
 */
export class MessagesRelay implements StreamRelay {
  begun = false
  done = false
  failed = false
  partial = true
  readonly #model: string
  #usage: Json = {}

  /** @param model the id that the client asked for */
  constructor(model: string) {
    this.#model = model
  }

  get usage(): ReportedUsage | null {
    return readMessagesUsage(this.#usage)
  }

  take(frame: Buffer): Buffer | string | null {
    if (frame.includes('"content_block_delta"')) {
      this.begun = true
      return frame
    }
    if (!/"(?:message_(?:start|delta|stop)|error)"/.test(frame.toString('latin1'))) return frame
    const data = parseObject(frameData(frame))
    switch (data?.['type']) {
      case 'message_start':
        return this.#takeStart(data, frame)
      case 'message_delta':
        this.#addUsage(data['usage'])
        this.partial = false
        return frame
      case 'message_stop':
        this.done = true
        return frame
      case 'error':
        return this.#takeError(data['error'])
      default:
        return frame
    }
  }

  end(): string | null {
    return null
  }

  fail({ code, message, param }: UpstreamError): string {
    return frameOf(gatewayErrorBody('anthropic', { code, message, param }))
  }

  #takeStart(data: Json, frame: Buffer): Buffer | string {
    const message = data['message']
    if (!isObject(message)) return frame
    this.#addUsage(message['usage'])
    return frameOf({ ...data, message: { ...message, model: this.#model } })
  }

  /** Rewrites an error, which ends the stream. */
  #takeError(error: unknown): string {
    this.done = true
    this.failed = true
    const { type, message } = asObject(error)
    const code = codes.get(String(type)) ?? 'upstream_failed'
    const shown = upstreamReason(typeof message === 'string' ? message : 'The provider failed.')
    return frameOf(gatewayErrorBody('anthropic', { code, message: shown }))
  }

  /** Merges the counts of a later event, which are totals so far. A count that the event omits keeps its value. */
  #addUsage(usage: unknown): void {
    if (!isObject(usage)) return
    const reported = Object.entries(usage).filter(([, value]) => value !== null)
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) }
  }
}

const frameOf = (data: Json): string => `event: ${data['type']}\ndata: ${JSON.stringify(data)}\n\n`
