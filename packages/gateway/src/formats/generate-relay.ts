import { gatewayErrorBody } from '@berth/contract'
import type { GatewayUsage } from '@berth/core/accounting/upstream.ts'
import { isObject, type Json, parseObject } from '@berth/platform/kit/json.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { upstreamReason } from '../providers/upstream-reason.ts'
import { frameData } from './frame-splitter.ts'
import { count, type StreamRelay } from './stream-relay.ts'

/**
 * Converts Google's usage. Google counts thoughts apart from the output, and tool content in the prompt apart from the
 * prompt.
 */
export function readGenerateUsage(usage: unknown): GatewayUsage | null {
  if (!isObject(usage) || typeof usage['promptTokenCount'] !== 'number') return null
  const thoughts = count(usage['thoughtsTokenCount'])
  const input = count(usage['promptTokenCount']) + count(usage['toolUsePromptTokenCount'])
  return {
    inputTokens: input,
    cachedInputTokens: Math.min(input, count(usage['cachedContentTokenCount'])),
    cacheWriteTokens: 0,
    outputTokens: count(usage['candidatesTokenCount']) + thoughts,
    reasoningTokens: thoughts,
  }
}

/**
 * Relays a generateContent stream. Each frame is a partial answer and carries the usage so far. No frame ends a stream.
 * It is complete if it ends after a candidate finished or the prompt was refused. The gateway breaks off a failed
 * stream after its error, because some clients take any other end for success.
 */
export class GenerateRelay implements StreamRelay {
  begun = false
  readonly done = false
  readonly breaksOff = true
  failed = false
  usage: GatewayUsage | null = null
  #finished = false

  get partial(): boolean {
    return !this.#finished
  }

  take(frame: Buffer): Buffer | string | null {
    const data = parseObject(frameData(frame))
    if (data === null) return frame
    if (isObject(data['error'])) return this.#takeError(data['error'])
    const candidates = Array.isArray(data['candidates']) ? data['candidates'].filter(isObject) : []
    this.begun ||= candidates.some(({ content }) => isObject(content))
    this.#finished ||= candidates.some(({ finishReason }) => typeof finishReason === 'string') || isBlocked(data)
    this.usage = readGenerateUsage(data['usageMetadata']) ?? this.usage
    return frame
  }

  end(): string | null {
    return this.#finished && !this.failed ? '' : null
  }

  fail({ code, message, param }: UpstreamError): string {
    return this.failed ? '' : frameOf(gatewayErrorBody('google', { code, message, param }))
  }

  #takeError({ message }: Json): string {
    this.failed = true
    const shown = upstreamReason(typeof message === 'string' ? message : 'The provider failed.')
    return frameOf(gatewayErrorBody('google', { code: 'upstream_failed', message: shown }))
  }
}

const isBlocked = ({ promptFeedback }: Json): boolean => isObject(promptFeedback) && 'blockReason' in promptFeedback

const frameOf = (data: Json): string => `data: ${JSON.stringify(data)}\r\n\r\n`
