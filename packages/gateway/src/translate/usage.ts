import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { GatewayUsage, ReportedUsage } from '@berth/core/accounting/upstream.ts'
import { isObject } from '@berth/platform/kit/json.ts'
import { readGenerateUsage } from '../formats/generate-relay.ts'
import { hourWrites, readMessagesUsage } from '../formats/messages-relay.ts'

/** Converts a package's usage. Null if the provider reported none. No more cached tokens than the input are believed. */
export function toUsage({ inputTokens: input, outputTokens, raw }: LanguageModelV4Usage): ReportedUsage | null {
  if (input.total === undefined && outputTokens.total === undefined) return null
  const inputTokens = input.total ?? 0
  const cachedInputTokens = Math.min(inputTokens, input.cacheRead ?? 0)
  const cacheWriteTokens = Math.min(inputTokens - cachedInputTokens, input.cacheWrite ?? 0)
  return {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    ...hourWrites(raw, cacheWriteTokens),
    outputTokens: outputTokens.total ?? 0,
    reasoningTokens: outputTokens.reasoning ?? 0,
  }
}

/**
 * Returns the usage that a stream reports before its end, for streams that never reach it. Anthropic reports input
 * tokens first; Google repeats the totals so far in every chunk.
 */
export function earlyUsage(part: LanguageModelV4StreamPart): GatewayUsage | null {
  if (part.type === 'custom' && part.kind === 'anthropic.message_start') {
    return readMessagesUsage(part.providerMetadata?.['anthropic']?.['usage'])
  }
  return part.type === 'raw' && isObject(part.rawValue) ? readGenerateUsage(part.rawValue['usageMetadata']) : null
}

/** Converts usage to the form of Responses. */
export function responsesUsage(usage: GatewayUsage) {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/** Converts usage to the form of Chat Completions. */
export function chatUsage(usage: GatewayUsage) {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
