import type { ProviderConfig } from '@earendil-works/pi-coding-agent'
import { asObject, isObject, type Json } from '../json.ts'
import type { ModelFault } from './model-fault.ts'
import { faultOf } from './model-fault.ts'
import { readFailure } from './read-failure.ts'
import { type WireName, wireOf } from './wires/wire.ts'

type ModelConfig = NonNullable<ProviderConfig['models']>[number]

/** A model as the gateway describes it. */
export interface ModelFacts {
  readonly id: string
  readonly contextTokens: number
  /** Null if unknown; requests then set no limit. */
  readonly outputTokens: number | null
  readonly reasoning: boolean
  readonly images: boolean
  /** Whether the gateway lists it. */
  readonly isListed: boolean
  /** The format in which the model is asked. */
  readonly wire: WireName
  /** The provider's own name for it. */
  readonly providerModel: string
  /** How the provider's format asks it to think; null if it is not known. */
  readonly control: string | null
  /** The provider's words for efforts. */
  readonly words: Readonly<Record<string, string>>
}

/** Used if the provider does not publish its context length. */
const assumedContextTokens = 128_000
/** Used to plan a conversation's size if the model's output limit is unknown. */
const assumedOutputTokens = 16_384

export class ModelFaultError extends Error {
  override readonly name = 'ModelFaultError'
  readonly fault: ModelFault

  constructor(fault: ModelFault) {
    super(fault.detail)
    this.fault = fault
  }
}

/**
 * Fetches the gateway's description of a model (OpenAPI `listModels`). A model that the gateway does not list gets
 * defaults and is requested anyway: the gateway decides whether it serves it.
 * @throws ModelFaultError if the gateway is unreachable or refuses
 */
export async function fetchModelFacts(gatewayUrl: string, id: string, signal: AbortSignal): Promise<ModelFacts> {
  let response: Response
  try {
    response = await fetch(`${gatewayUrl}/models`, {
      headers: { authorization: 'Bearer berth' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
    })
  } catch (cause) {
    signal.throwIfAborted()
    throw new ModelFaultError(faultOf({ code: 'unreachable', message: String(cause) }))
  }
  if (!response.ok) throw new ModelFaultError(faultOf(await readFailure(response)))
  const body: unknown = await response.json().catch(() => null)
  const data = isObject(body) && Array.isArray(body['data']) ? body['data'] : []
  return readFacts(id, data.find(item => isObject(item) && item['id'] === id) ?? null)
}

function readFacts(id: string, listed: Json | null): ModelFacts {
  const model = listed ?? {}
  const modalities = model['input_modalities']
  const { native_wires: wires, provider_model: providerModel, reasoning_control: control } = model
  const words = Object.entries(asObject(model['reasoning_words']))
  return {
    id,
    contextTokens: positive(model['context_length']) ?? assumedContextTokens,
    outputTokens: positive(model['max_output_tokens']) ?? null,
    reasoning: model['supports_reasoning'] === true,
    images: Array.isArray(modalities) && modalities.includes('image'),
    isListed: listed !== null,
    wire: wireOf(Array.isArray(wires) ? wires : []),
    providerModel: typeof providerModel === 'string' ? providerModel : id,
    control: typeof control === 'string' ? control : null,
    words: Object.fromEntries(words.filter((entry): entry is [string, string] => typeof entry[1] === 'string')),
  }
}

/** Converts the facts to the SDK's model configuration. */
export function modelConfig(facts: ModelFacts): ModelConfig {
  const { id, contextTokens, outputTokens, reasoning, images, words } = facts
  return {
    id,
    name: id,
    reasoning,
    thinkingLevelMap: words,
    input: images ? ['text', 'image'] : ['text'],
    // The gateway accounts for the cost of every request, so the SDK calculates none.
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: contextTokens,
    maxTokens: Math.min(outputTokens ?? assumedOutputTokens, contextTokens),
    compat: {
      supportsDeveloperRole: false,
      supportsMaxOutputTokens: outputTokens !== null,
      supportsLongCacheRetention: false,
    },
  }
}

const positive = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
