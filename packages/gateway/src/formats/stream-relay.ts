import type { GatewayUsage } from '@berth/core/accounting/upstream.ts'
import { asObject, isObject } from '@berth/platform/kit/json.ts'
import type { UpstreamError } from '@berth/platform/kit/upstream-error.ts'

/** Relays a provider's frames to the client, tracks their usage, and ends the stream if its provider does not. */
export interface StreamRelay {
  /** Whether model output has arrived. */
  readonly begun: boolean
  /** Whether the frame that ends a stream in this format has arrived. Nothing is taken after it. */
  readonly done: boolean
  /** Whether the provider reported a failure in a frame. */
  readonly failed: boolean
  readonly usage: GatewayUsage | null
  /** Whether actual usage may exceed `usage` so far. */
  readonly partial?: boolean
  /** Whether the gateway breaks off a failed stream because the format has no error frame that every client knows. */
  readonly breaksOff?: boolean
  /** Returns the client's version of a whole frame, or null if the client does not get it. */
  take(frame: Buffer): Buffer | string | null
  /**
   * Called when the provider closes the stream normally. Returns the remaining text, or null if the answer is
   * incomplete.
   */
  end(): string | null
  /** Returns the frames that report the failure in this format. */
  fail(error: UpstreamError): string
}

/** Returns a token count from a provider's usage, or 0 if it is absent. */
export const count = (value: unknown): number => (typeof value === 'number' && value >= 0 ? Math.floor(value) : 0)

/**
 * Converts usage in the terms of Responses or Chat Completions. Null if it is absent. Cached tokens have several names among
 * providers that are compatible; no more than the input are believed.
 */
export function readUsage(usage: unknown): GatewayUsage | null {
  if (!isObject(usage)) return null
  const input = usage['input_tokens'] ?? usage['prompt_tokens']
  const output = usage['output_tokens'] ?? usage['completion_tokens']
  if (typeof input !== 'number' || typeof output !== 'number') return null
  const details = asObject(usage['input_tokens_details'] ?? usage['prompt_tokens_details'])
  const outputDetails = asObject(usage['output_tokens_details'] ?? usage['completion_tokens_details'])
  const firstOf = (...counts: unknown[]) => counts.map(count).find(each => each > 0) ?? 0
  const { cached_tokens, prompt_cache_hit_tokens, cache_read_input_tokens, cache_creation_input_tokens } = usage
  const inputTokens = count(input)
  const read = firstOf(details['cached_tokens'], cached_tokens, prompt_cache_hit_tokens, cache_read_input_tokens)
  const cachedInputTokens = Math.min(inputTokens, read)
  const written = firstOf(details['cache_write_tokens'], cache_creation_input_tokens)
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens: Math.min(inputTokens - cachedInputTokens, written),
    outputTokens: count(output),
    reasoningTokens: count(outputDetails['reasoning_tokens']),
  }
}
