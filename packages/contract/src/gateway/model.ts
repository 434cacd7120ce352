import { type Static, Type } from 'typebox'
import { nullable, open, openString } from '../scalar.ts'

const tokens = nullable(Type.Integer({ minimum: 1 }))

const Pricing = Type.Unsafe<{ input: number; cached_input: number; output: number } | null>({
  type: ['object', 'null'],
  description: 'US dollars per million tokens; null if the price, and therefore the cost, is unknown.',
  required: ['input', 'cached_input', 'output'],
  properties: { input: { type: 'number' }, cached_input: { type: 'number' }, output: { type: 'number' } },
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
    native_wires: Type.Array(openString(['chat', 'responses', 'messages', 'generate']), {
      description:
        'Formats that the provider itself speaks. The gateway can translate `chat` and `responses`; it only passes the others through.',
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

export type Model = Static<typeof Model>
export type ModelList = Static<typeof ModelList>
