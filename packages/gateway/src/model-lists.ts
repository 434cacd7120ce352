import type { AnthropicModel, Dialect, GoogleModel, Model } from '@berth/contract'
import type { ResolvedModel, TokenPrice, Wire } from '@berth/core/accounting/upstream.ts'
import { reasoningOf } from '@berth/core/runtimes/reasoning.ts'
import { invalidField } from '@berth/platform/kit/refusal.ts'

type Query = Readonly<Record<string, unknown>>

/** The format in which a dialect's clients call models. */
export const wireOf: Readonly<Record<Dialect, Wire>> = { openai: 'chat', anthropic: 'messages', google: 'generate' }

/** Renders a model in the format of the dialect. */
export function modelView(model: ResolvedModel, dialect: Dialect): object {
  return { openai: openaiModel, anthropic: anthropicModel, google: googleModel }[dialect](model)
}

/**
 * Renders a list of models in the format of the dialect. OpenAI's has no pages.
 * @throws ApiError 400 if a page is asked for that the list does not have
 */
export function modelListView(models: readonly ResolvedModel[], dialect: Dialect, query: Query): object {
  const views = (page: readonly ResolvedModel[]) => page.map(model => modelView(model, dialect))
  if (dialect === 'google') {
    const { page, hasMore } = pageAfter(models, 'pageToken', query, query['pageSize'] ?? 50)
    const last = page.at(-1)
    return { models: views(page), ...(hasMore && last !== undefined && { nextPageToken: last.id }) }
  }
  if (dialect === 'anthropic') {
    const limit = query['limit'] ?? 20
    const before = query['before_id'] !== undefined
    const { page, hasMore } = before ? pageBefore(models, query, limit) : pageAfter(models, 'after_id', query, limit)
    const [first] = page
    const ends = { first_id: first?.id ?? null, last_id: page.at(-1)?.id ?? null }
    return { data: views(page), has_more: hasMore, ...ends }
  }
  const [name] = Object.keys(query)
  if (name !== undefined) throw invalidField([name], 'is a parameter of another format, whose header is missing')
  return { object: 'list', data: views(models) }
}

/** Returns the formats in which neither a model nor one of its fallbacks needs a translation. */
export const sharedWires = ([first, ...fallbacks]: readonly ResolvedModel[]): readonly Wire[] =>
  (first === undefined ? [] : wiresOf(first)).filter(wire => fallbacks.every(model => wiresOf(model).includes(wire)))

const wiresOf = ({ kind, wire }: ResolvedModel): readonly Wire[] => (kind === 'openai' ? ['chat', 'responses'] : wire)

type Models = readonly ResolvedModel[]

function pageAfter(models: Models, name: string, query: Query, size: unknown) {
  const start = query[name] === undefined ? 0 : placeIn(models, name, query) + 1
  const end = start + Number(size)
  return { page: models.slice(start, end), hasMore: end < models.length }
}

function pageBefore(models: Models, query: Query, size: unknown) {
  if (query['after_id'] !== undefined) throw invalidField(['before_id'], 'must not be sent together with after_id')
  const end = placeIn(models, 'before_id', query)
  const start = Math.max(0, end - Number(size))
  return { page: models.slice(start, end), hasMore: start > 0 }
}

function placeIn(models: Models, name: string, query: Query): number {
  const place = models.findIndex(({ id }) => id === query[name])
  if (place === -1) throw invalidField([name], 'is not a model of the list')
  return place
}

const pricingOf = ({ input, cachedInput, cacheWrite, output }: TokenPrice) => ({
  ...{ input, cached_input: cachedInput, cache_write: cacheWrite, output },
})

function openaiModel(model: ResolvedModel): Model {
  const { price } = model
  const reasoning = model.reasoning ? reasoningOf(model) : null
  return {
    id: model.id,
    object: 'model',
    created: 0,
    owned_by: model.provider,
    context_length: model.contextTokens ?? null,
    max_output_tokens: model.outputTokens ?? null,
    supports_tools: model.tools,
    supports_reasoning: model.reasoning,
    reasoning_control: reasoning?.control ?? null,
    reasoning_words: reasoning?.efforts ?? null,
    provider_model: model.model,
    native_wires: [...model.wire],
    input_modalities: [...model.modalities],
    pricing: price === undefined ? null : pricingOf(price),
  }
}

function anthropicModel({ id, contextTokens, outputTokens }: ResolvedModel): AnthropicModel {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: contextTokens ?? null,
    max_tokens: outputTokens ?? null,
    capabilities: null,
  }
}

function googleModel({ id, contextTokens, outputTokens }: ResolvedModel): GoogleModel {
  return {
    name: `models/${id}`,
    displayName: id,
    ...(contextTokens !== undefined && { inputTokenLimit: contextTokens }),
    ...(outputTokens !== undefined && { outputTokenLimit: outputTokens }),
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  }
}
