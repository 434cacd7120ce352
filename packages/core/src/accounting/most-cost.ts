import { HOUR_WRITE } from './cost.ts'
import type { ModelRequest } from './model-request.ts'
import type { ResolvedModel } from './upstream.ts'

/** Output tokens of a request that names no bound, to a model that names none. */
const UNBOUNDED_OUTPUT = 128_000
/** Input tokens of a request that names content elsewhere, to a model whose context is not configured. */
const UNBOUNDED_INPUT = 1_000_000
/** More than any provider counts for one image. */
const IMAGE_TOKENS = 50_000

const boundNames = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']

// Quotes inside of text are escaped, so these find members alone.
const images = /"image_url":(?:"|\{"(?:url|detail)")|"(?:inlineData|inline_data)":\{|"type":"image"/g
/** A file, or content that the provider keeps or fetches: a few bytes name any number of tokens. */
const references =
  /"(?:file_id|file_url|file_data|fileUri|file_uri|vector_store_ids)":["[]|"type":"(?:document|item_reference)"|"prompt":\{"id"/

/**
 * Returns the most that a request may cost with one of several models, in US dollars: every byte of text is a token at most, an
 * image and a file are as large as they may be, and the answer is as long. The model's context bounds the input in any case.
 */
export function mostCostOf({ body }: Pick<ModelRequest, 'body'>, models: readonly ResolvedModel[]): number {
  const text = JSON.stringify(body)
  const bytes = Buffer.byteLength(text) + (text.match(images)?.length ?? 0) * IMAGE_TOKENS
  const config = body['generationConfig'] as Readonly<Record<string, unknown>> | undefined
  const bounds = [...boundNames.map(name => body[name]), config?.['maxOutputTokens']].filter(isCount)
  const answers = [body['n'], config?.['candidateCount']].find(isCount) ?? 1
  const costs = models.map(({ price, contextTokens, outputTokens = UNBOUNDED_OUTPUT }) => {
    if (price === undefined) return 0
    const input = references.test(text)
      ? (contextTokens ?? Math.max(bytes, UNBOUNDED_INPUT))
      : Math.min(bytes, contextTokens ?? Number.POSITIVE_INFINITY)
    const write = price.cacheWrite * (text.includes('"1h"') ? HOUR_WRITE : 1)
    const output = Math.min(outputTokens, ...bounds) * answers
    return (input * Math.max(price.input, write) + output * price.output) / 1e6
  })
  return Math.max(0, ...costs)
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value > 0
