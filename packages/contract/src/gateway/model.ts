import { type Static, Type } from 'typebox'
import { nullable, open, openString } from '../scalar.ts'

const tokens = nullable(Type.Integer({ minimum: 1 }))

const Pricing = Type.Unsafe<{ input: number; cached_input: number; output: number } | null>({
  type: ['object', 'null'],
  description: 'US dollars per million tokens; null where they are not known, and with them the cost.',
  required: ['input', 'cached_input', 'output'],
  properties: { input: { type: 'number' }, cached_input: { type: 'number' }, output: { type: 'number' } },
  additionalProperties: true,
})

/** A model that the gateway serves: OpenAI's fields, and what it can do (interface 4.12). */
export const Model = Type.Object(
  {
    id: Type.String({ description: '`<provider>/<model>`, or an alias.' }),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Seconds since 1970.' }),
    owned_by: Type.String({ description: 'Id of the provider.' }),
    context_length: tokens,
    max_output_tokens: tokens,
    supports_tools: Type.Boolean(),
    supports_reasoning: Type.Boolean({ description: 'Whether it takes a reasoning effort.' }),
    native_wires: Type.Array(openString(['chat', 'responses', 'messages', 'generate']), {
      description:
        'Formats that its provider speaks itself. The gateway translates to the first two, and passes the others on.',
    }),
    input_modalities: Type.Array(openString(['text', 'image', 'audio', 'file'])),
    pricing: Pricing,
  },
  { title: 'Model', ...open },
)

export const ModelList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Model) },
  { title: 'ModelList', ...open },
)

export type Model = Static<typeof Model>
export type ModelList = Static<typeof ModelList>
