import { streamSimple } from '@earendil-works/pi-ai/api/anthropic-messages'
import { asObject, type Json } from '../../json.ts'
import { sendable } from '../sendable.ts'
import { markPrefix } from './cache-marks.ts'
import type { Wire, WireRequest } from './wire.ts'

/** Tokens that a model without efforts of its own may think, by Berth's effort. */
const budgets: Readonly<Record<string, number>> = { minimal: 1024, low: 4096, medium: 8192, high: 16_384, max: 32_000 }
/** The least that Anthropic takes, and the least that is left to the answer. */
const LEAST_BUDGET = 1024
const LEAST_ANSWER = 1024

const INTERLEAVED = 'interleaved-thinking-2025-05-14'

/** Anthropic's Messages. Thoughts come with a signature, and Anthropic refuses those that have changed. */
export const messages: Wire = request => {
  const { model, context, options, fetch, outputTokensLeft } = request
  return streamSimple(
    // Arguments come in whole pieces of JSON only if the client does not ask for them sooner.
    { ...model, api: 'anthropic-messages', compat: { supportsEagerToolInputStreaming: false } },
    context,
    {
      ...options,
      fetch,
      maxTokens: Math.min(options.maxTokens ?? model.maxTokens, outputTokensLeft),
      // The marks are set below.
      cacheRetention: 'none',
      onPayload: payload => bodyOf(asObject(sendable(payload)), request),
    },
  )
}

function bodyOf({ betas: _, thinking: __, output_config: ___, ...given }: Json, { facts, options }: WireRequest): Json {
  const body = options.cacheRetention === 'none' ? given : markPrefix(given)
  if (!facts.reasoning) return body
  const { reasoning: effort } = options
  if (facts.control !== 'budget') {
    const word = effort === undefined ? undefined : facts.words[effort]
    const thinking = { type: 'adaptive', display: 'summarized' }
    return { ...body, thinking, ...(word !== undefined && { output_config: { effort: word } }) }
  }
  const most = Number(body['max_tokens']) - LEAST_ANSWER
  if (most < LEAST_BUDGET) return body
  const budget = Math.min(budgets[effort ?? 'medium'] ?? LEAST_BUDGET, most)
  return { ...body, thinking: { type: 'enabled', budget_tokens: budget }, betas: [INTERLEAVED] }
}
