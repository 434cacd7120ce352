import { type Static, Type } from 'typebox'
import { closed, nullable, open, openString } from '../scalar.ts'
import { gatewayLimits, model } from './shared-fields.ts'

const tokens = nullable(Type.Integer({ minimum: 1 }))

const Pricing = Type.Unsafe<{ input: number; cached_input: number; cache_write: number; output: number } | null>({
  type: ['object', 'null'],
  description: 'US dollars per million tokens; null if the price, and therefore the cost, is unknown.',
  required: ['input', 'cached_input', 'cache_write', 'output'],
  properties: Object.fromEntries(
    ['input', 'cached_input', 'cache_write', 'output'].map(kind => [kind, { type: 'number' }]),
  ),
  additionalProperties: true,
})

/** A model that the gateway serves: OpenAI's fields, and the model's abilities. */
export const Model = Type.Object(
  {
    id: Type.String({ description: '`<provider>/<model>`, or an alias.' }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Seconds since 1970.' }),
    owned_by: Type.String({ description: 'Id of the provider.' }),
    context_length: tokens,
    max_output_tokens: tokens,
    supports_tools: Type.Boolean(),
    supports_reasoning: Type.Boolean({ description: 'True if the model accepts a reasoning effort.' }),
    reasoning_control: nullable(
      openString(
        ['effort', 'adaptive', 'level', 'budget'],
        "How the provider's own format asks the model to think; null if it does not reason.",
      ),
    ),
    reasoning_words: Type.Unsafe<Readonly<Record<string, string>> | null>({
      type: ['object', 'null'],
      description: "The provider's word for each of Berth's efforts; null if the model does not reason.",
      additionalProperties: { type: 'string' },
    }),
    provider_model: Type.String({ description: "The provider's own name for the model." }),
    native_wires: Type.Array(openString(['chat', 'responses', 'messages', 'generate']), {
      description:
        'Formats that the provider speaks itself, and those of all fallbacks too. The gateway can translate `chat` and `responses`; it only passes the others through.',
    }),
    input_modalities: Type.Array(openString(['text', 'image', 'audio', 'file'])),
    pricing: Pricing,
  },
  { title: 'Model', description: 'A model that the gateway serves.', ...open },
)

export const ModelList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Model) },
  { title: 'ModelList', description: 'The models that the caller may use.', ...open },
)

/** A model in Anthropic's format. */
export interface AnthropicModel {
  readonly type: 'model'
  readonly id: string
  readonly display_name: string
  /** The start of 1970: the gateway does not know when models appeared. */
  readonly created_at: string
  readonly max_input_tokens: number | null
  readonly max_tokens: number | null
  readonly capabilities: null
}

/** A model in Google's format. */
export const GoogleModel = Type.Object(
  {
    name: Type.String({ description: '`models/` and the id: `<provider>/<model>`, or an alias.' }),
    displayName: Type.String(),
    inputTokenLimit: Type.Optional(Type.Integer()),
    outputTokenLimit: Type.Optional(Type.Integer()),
    supportedGenerationMethods: Type.Array(Type.String()),
  },
  { title: 'GoogleModel', description: "A model in Google's format.", ...open },
)

/** A page of models in Google's format. */
export const GoogleModelList = Type.Object(
  {
    models: Type.Array(GoogleModel),
    nextPageToken: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  {
    title: 'GoogleModelList',
    description: "The models that the caller may use over Google's generateContent.",
    ...open,
  },
)

export const ModelPath = Type.Object({ model })

/** With it, the answer has Anthropic's format. */
export const ModelHeaders = Type.Object({
  'anthropic-version': Type.Optional(
    Type.String({ description: "Anthropic's clients send it: the answer then has their provider's format." }),
  ),
})

const pageSize = Type.Integer({ minimum: 1, maximum: 1000, description: 'Largest number of models in the page.' })
const modelId = Type.String({ minLength: 1, maxLength: gatewayLimits.modelCharacters })

/** The pages of Anthropic's format. */
export const ModelListQuery = Type.Object(
  {
    limit: Type.Optional({ ...pageSize, description: "Largest number of models in the page; in Anthropic's format." }),
    after_id: Type.Optional({ ...modelId, description: "`last_id` of the previous page; in Anthropic's format." }),
    before_id: Type.Optional({ ...modelId, description: "`first_id` of the next page; in Anthropic's format." }),
  },
  closed,
)

/** The pages of Google's format. */
export const GoogleModelListQuery = Type.Object(
  {
    pageSize: Type.Optional(pageSize),
    pageToken: Type.Optional({ ...modelId, description: '`nextPageToken` of the previous page.' }),
  },
  closed,
)

export type GoogleModel = Static<typeof GoogleModel>
export type Model = Static<typeof Model>
export type ModelList = Static<typeof ModelList>
