import { HOUR_WRITE } from './cost.ts'
import type { ModelRequest } from './model-request.ts'
import type { ResolvedModel } from './upstream.ts'

/** Output tokens of a request that names no bound, to a model that names none. */
const UNBOUNDED_OUTPUT = 128_000

const boundNames = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']

/**
 * Returns the most that a request may cost with a model, in US dollars: every byte is a token at most, and the answer is as
 * long as it may be. Images are longer in bytes than in tokens, so that the model's context bounds the input as well.
 */
export function mostCostOf({ body }: Pick<ModelRequest, 'body'>, model: ResolvedModel): number {
  const { price, contextTokens = Number.POSITIVE_INFINITY, outputTokens = UNBOUNDED_OUTPUT } = model
  if (price === undefined) return 0
  const text = JSON.stringify(body)
  const input = Math.min(Buffer.byteLength(text), contextTokens)
  const write = price.cacheWrite * (text.includes('"1h"') ? HOUR_WRITE : 1)
  const config = body['generationConfig'] as Readonly<Record<string, unknown>> | undefined
  const bounds = [...boundNames.map(name => body[name]), config?.['maxOutputTokens']].filter(isCount)
  const answers = [body['n'], config?.['candidateCount']].find(isCount) ?? 1
  const output = Math.min(outputTokens, ...bounds) * answers
  return (input * Math.max(price.input, write) + output * price.output) / 1e6
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value > 0
