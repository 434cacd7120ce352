import type { StatedPrice } from '@berth/core/accounting/upstream.ts'
import { asObject, isObject, type Json } from '@berth/platform/kit/json.ts'
import type { ProviderClient } from './provider-client.ts'

/** A provider's description of a model in its list. */
export interface ListedModel {
  readonly id: string
  readonly contextTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly modalities: readonly ('text' | 'image' | 'audio' | 'file')[] | undefined
  readonly price: StatedPrice | undefined
}

const maxModels = 5_000
const maxBytes = 16 * 1024 ** 2

/** Asks a provider for its models. Fields that an entry omits, or states in an unknown form, stay undefined. */
export async function fetchModelList(client: ProviderClient, signal: AbortSignal): Promise<readonly ListedModel[]> {
  const answer = await client.send({ method: 'GET', path: '/models', signal })
  if (answer.status !== 200) {
    answer.close()
    throw new Error(`the list of models has status ${answer.status}`)
  }
  const body = await answer.readAll(maxBytes)
  if (body === null) throw new Error('the list of models is too long')
  return parseModelList(body.toString('utf8'))
}

/**
 * Reads a provider's list of models.
 * @throws Error if it is none
 */
export function parseModelList(body: string): readonly ListedModel[] {
  const parsed: unknown = JSON.parse(body)
  const entries = isObject(parsed) ? (parsed['data'] ?? parsed['models']) : null
  if (!Array.isArray(entries)) throw new Error('the list of models is not an array')
  return entries
    .filter(isObject)
    .slice(0, maxModels)
    .map(readEntry)
    .filter(model => model !== null)
}

/** Reads OpenAI's `id`, Google's `models/<id>`, and the size and price fields of servers of either kind. */
function readEntry(entry: Json): ListedModel | null {
  const name = typeof entry['id'] === 'string' ? entry['id'] : entry['name']
  if (typeof name !== 'string' || !/^\S{1,200}$/.test(name)) return null
  const top = asObject(entry['top_provider'])
  return {
    id: name.replace(/^models\//, ''),
    contextTokens: count(entry['context_length'] ?? entry['max_model_len'] ?? entry['inputTokenLimit']),
    outputTokens: count(entry['max_output_tokens'] ?? entry['outputTokenLimit'] ?? top['max_completion_tokens']),
    modalities: readModalities(entry['architecture']),
    price: readPrice(entry['pricing']),
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

function readModalities(architecture: unknown): ListedModel['modalities'] {
  const named = isObject(architecture) ? architecture['input_modalities'] : null
  if (!Array.isArray(named)) return undefined
  const known = (['text', 'image', 'audio', 'file'] as const).filter(modality => named.includes(modality))
  return known.length === 0 ? undefined : known
}

/** Reads prices, which are dollars per token as text. */
function readPrice(pricing: unknown): ListedModel['price'] {
  if (!isObject(pricing)) return undefined
  const perMillion = (value: unknown) => {
    const price = typeof value === 'string' && value !== '' ? Number(value) * 1e6 : Number.NaN
    return Number.isFinite(price) && price >= 0 ? price : undefined
  }
  const [input, output] = [perMillion(pricing['prompt']), perMillion(pricing['completion'])]
  if (input === undefined || output === undefined) return undefined
  const [read, written] = [perMillion(pricing['input_cache_read']), perMillion(pricing['input_cache_write'])]
  return { input, cachedInput: read ?? input, cacheWrite: written, output }
}
