import Type, { type StaticDecode } from 'typebox'
import { checked, closed, distinct, type Read, record, text, webUrl } from './schema.ts'
import { type SecretSource, secret } from './secret-text.ts'

/** A model that a provider serves. Without a price, the cost of a Run that used the model is incomplete. */
export type ModelConfig = Read<StaticDecode<typeof model>>
/** An upstream of the model gateway. Without `models`, Berth asks the provider for its list. */
export type ProviderConfig = Read<StaticDecode<ReturnType<typeof providerSchema>>>
export type ModelsConfig = Read<StaticDecode<typeof modelsSchema>>

const tokens = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const dollars = Type.Number({ minimum: 0 })

/** US dollars per million tokens. What is read from a cache costs as much as other input unless the file says otherwise. */
const price = Type.Decode(
  closed({ input: dollars, cachedInput: Type.Optional(dollars), cacheWrite: Type.Optional(dollars), output: dollars }),
  ({ cachedInput, ...others }) => ({ ...others, cachedInput: cachedInput ?? others.input }),
)

const facts = {
  contextTokens: Type.Optional(tokens),
  outputTokens: Type.Optional(tokens),
  tools: Type.Boolean({ default: true }),
  reasoning: Type.Boolean({ default: false }),
  modalities: Type.Array(Type.Enum(['text', 'image', 'audio', 'file']), { minItems: 1, default: ['text'] }),
  price: Type.Optional(price),
}
const model = closed({ id: Type.String({ pattern: '^\\S{1,200}$' }), ...facts })

/** The formats that each kind of upstream speaks natively unless the file says otherwise. */
const wires = {
  openai: ['chat', 'responses'],
  anthropic: ['messages'],
  google: ['generate'],
  'openai-compatible': ['chat'],
} as const

/** One entry of `providers` of the configuration file. */
export const providerSchema = (source: SecretSource) =>
  Type.Decode(
    checked(
      closed({
        id: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' }),
        kind: Type.Enum(['openai', 'anthropic', 'google', 'openai-compatible']),
        baseUrl: Type.Optional(webUrl),
        apiKey: Type.Optional(secret(source)),
        wire: Type.Optional(Type.Array(Type.Enum(['chat', 'responses', 'messages', 'generate']), { minItems: 1 })),
        models: Type.Optional(distinct(model)),
      }),
      ({ kind, baseUrl }) => kind !== 'openai-compatible' || baseUrl !== undefined,
      'is openai-compatible, so it needs a baseUrl',
    ),
    ({ wire, ...provider }) => ({ ...provider, wire: wire ?? [...wires[provider.kind]] }),
  )

const catalogId = /^\S{1,265}$/

/** `models` of the configuration file. */
export const modelsSchema = closed(
  {
    default: Type.Optional(text),
    aliases: record(/^[a-z0-9][a-z0-9._-]{0,63}$/, text),
    /** Models to try in order if a model fails before it answers. */
    fallbacks: record(catalogId, Type.Array(text, { minItems: 1 })),
    /** Facts about models, by catalog id, that the provider's own list does not give. */
    details: record(catalogId, closed(facts, { default: {} })),
  },
  { default: {} },
)

/** A place in the file, and the problem with it. */
type Fault = readonly [place: readonly string[], problem: string]

/** Finds models that no provider serves. One without a list may serve any: only its own list can tell. */
export function* modelFaults(models: ModelsConfig, providers: readonly ProviderConfig[]): Generator<Fault> {
  const isServed = (id: string) => {
    const slash = id.indexOf('/')
    const provider = providers.find(candidate => candidate.id === id.slice(0, slash))
    return provider !== undefined && provider.models?.some(({ id: own }) => own === id.slice(slash + 1)) !== false
  }
  const unserved = (id: string) => `names the model ${id}, which no provider serves`
  const isKnown = (id: string) => Object.hasOwn(models.aliases, id) || isServed(id)
  for (const [alias, id] of Object.entries(models.aliases)) {
    if (!isServed(id)) yield [['aliases', alias], unserved(id)]
  }
  for (const [id, others] of Object.entries(models.fallbacks)) {
    if (!isKnown(id)) yield [['fallbacks', id], unserved(id)]
    const unknown = others.findIndex(other => !isKnown(other))
    if (unknown >= 0) yield [['fallbacks', id, String(unknown)], unserved(others[unknown] ?? '')]
    if (others.includes(id)) yield [['fallbacks', id], `names ${id} as its own fallback`]
  }
  for (const id of Object.keys(models.details)) if (!isServed(id)) yield [['details', id], unserved(id)]
  if (models.default !== undefined && !isKnown(models.default)) yield [['default'], unserved(models.default)]
}
