import { gatewayErrorBody } from '@berth/contract'
import type { GatewayUsage } from '@berth/core/accounting/upstream.ts'
import { isObject, parseObject } from '@berth/platform/kit/json.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { upstreamReason } from '../providers/upstream-reason.ts'
import { frameData } from './frame-splitter.ts'
import { readUsage, type StreamRelay } from './stream-relay.ts'

/** Returns whether chunks hold model output. */
export const hasContent = (chunks: string): boolean =>
  /"(?:content|reasoning_content|arguments)":\s?"[^"]|"tool_calls"/.test(chunks)

/**
 * Relays a Chat Completions stream. It parses a frame only if the bytes contain a name that matters: inside a JSON
 * string, the quotes of such a name would be escaped.
 */
export class ChatRelay implements StreamRelay {
  begun = false
  done = false
  failed = false
  usage: GatewayUsage | null = null
  readonly #keepsUsage: boolean
  #finished = false

  /** @param keepsUsage whether the client asked for the chunk with the usage */
  constructor(keepsUsage: boolean) {
    this.#keepsUsage = keepsUsage
  }

  take(frame: Buffer): Buffer | string | null {
    this.begun ||= hasContent(frame.toString('latin1'))
    if (frame.includes('[DONE]') && frameData(frame).trim() === '[DONE]') {
      this.done = true
      return frame
    }
    this.#finished ||= frame.includes('"finish_reason":"') || frame.includes('"finish_reason": "')
    if (frame.includes('"error"')) return this.#takeError(frame)
    if (!frame.includes('"usage"') || frame.includes('"usage":null')) return frame
    const chunk = parseObject(frameData(frame))
    const usage = readUsage(chunk?.['usage'])
    if (usage === null) return frame
    this.usage = usage
    const choices = chunk?.['choices']
    return this.#keepsUsage || !Array.isArray(choices) || choices.length > 0 ? frame : null
  }

  end(): string | null {
    return this.#finished && !this.failed ? 'data: [DONE]\n\n' : null
  }

  fail(error: UpstreamError): string {
    if (this.failed) return ''
    return frameOf(error)
  }

  /** Rewrites a provider's error. Nothing follows it: the stream ends without `[DONE]`. */
  #takeError(frame: Buffer): Buffer | string {
    const data = parseObject(frameData(frame))
    if (data === null || !('error' in data) || data['error'] === null || Array.isArray(data['choices'])) return frame
    this.failed = true
    const error = isObject(data['error']) ? data['error'] : { message: String(data['error']) }
    const message = upstreamReason(typeof error['message'] === 'string' ? error['message'] : 'The provider failed.')
    return frameOf({ code: 'upstream_failed', message })
  }
}

const frameOf = ({
  code,
  message,
  param = null,
}: Pick<UpstreamError, 'code' | 'message'> & { param?: string | null }) =>
  `data: ${JSON.stringify(gatewayErrorBody('openai', { code, message, param }))}\n\n`
