import { isObject } from '../../kit/json.ts'
import type { UpstreamError } from '../../kit/upstream-error.ts'
import type { GatewayUsage } from '../providers/upstream.ts'

/** Looks on while the frames of a stream pass through, and ends the stream where its provider does not. */
export interface StreamTap {
  /** Whether something that the model said has come. */
  readonly begun: boolean
  /** Whether the frame that ends a stream of the format has come. Nothing is taken after it. */
  readonly done: boolean
  /** What the provider said went wrong, in a frame. */
  readonly failed: boolean
  readonly usage: GatewayUsage | null
  /** Whether more may have been used than `usage` tells so far. */
  readonly partial?: boolean
  /** Whether a stream that failed is broken off: its format has no frame that says so to every client. */
  readonly breaksOff?: boolean
  /** What the client gets of a whole frame; null where it is not for the client. */
  take(frame: Buffer): Buffer | string | null
  /** The provider ended the stream in good order: what is left to say, or null where its answer is not complete. */
  end(): string | null
  /** The frames that say in the format that the stream failed. */
  fail(error: UpstreamError): string
}

/** Tokens as a provider tells them; 0 where it does not. */
export const count = (value: unknown): number => (typeof value === 'number' && value >= 0 ? Math.floor(value) : 0)

/** What a provider says was used, in the words of either format; null where it does not say. */
export function readUsage(usage: unknown): GatewayUsage | null {
  if (!isObject(usage)) return null
  const input = usage['input_tokens'] ?? usage['prompt_tokens']
  const output = usage['output_tokens'] ?? usage['completion_tokens']
  if (typeof input !== 'number' || typeof output !== 'number') return null
  const inputDetails = usage['input_tokens_details'] ?? usage['prompt_tokens_details']
  const outputDetails = usage['output_tokens_details'] ?? usage['completion_tokens_details']
  return {
    inputTokens: count(input),
    cachedInputTokens: Math.min(count(input), isObject(inputDetails) ? count(inputDetails['cached_tokens']) : 0),
    outputTokens: count(output),
    reasoningTokens: isObject(outputDetails) ? count(outputDetails['reasoning_tokens']) : 0,
  }
}
