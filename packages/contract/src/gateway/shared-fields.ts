import { type TSchema, Type } from 'typebox'
import { nullable, someText } from '../scalar.ts'

/** Limits of a gateway request, in characters or members unless the name says otherwise. */
export const gatewayLimits = {
  /** Largest JSON body that the gateway accepts, unless a setting changes it. */
  bodyBytes: 33_554_432,
  modelCharacters: 300,
  metadataMembers: 16,
  metadataKeyCharacters: 64,
  metadataValueCharacters: 512,
} as const

export const flag = nullable(Type.Boolean())
export const share = (least: number, most: number) => nullable(Type.Number({ minimum: least, maximum: most }))
export const positive = nullable(Type.Integer({ minimum: 1 }))
export const anyText = nullable(Type.String())
export const anyObject = Type.Unsafe<Readonly<Record<string, unknown>> | null>({
  type: ['object', 'null'],
  additionalProperties: true,
})
export const listOf = <T extends TSchema>(item: T) => nullable(Type.Array(item))

/** A keyword of OpenAI's, whose set may grow at any time. */
export const keyword = nullable(Type.String({ minLength: 1, maxLength: 64 }))

/** An object with a `type`; the component that understands the type validates its other members. */
export const Typed = Type.Unsafe<Readonly<Record<string, unknown>> & { readonly type: string }>({
  type: 'object',
  required: ['type'],
  properties: { type: { type: 'string', minLength: 1, maxLength: 64 } },
  additionalProperties: true,
})

export const metadata = Type.Unsafe<Readonly<Record<string, string>> | null>({
  type: ['object', 'null'],
  maxProperties: gatewayLimits.metadataMembers,
  propertyNames: { maxLength: gatewayLimits.metadataKeyCharacters },
  additionalProperties: { type: 'string', maxLength: gatewayLimits.metadataValueCharacters },
  description: 'Strings by name; the response returns them.',
})

export const model = someText(gatewayLimits.modelCharacters, {
  description: 'Id or alias of a model; `listModels` lists them.',
})

/** Fields that both of OpenAI's formats share. */
export const commonFields = {
  metadata: Type.Optional(metadata),
  moderation: Type.Optional(anyObject),
  parallel_tool_calls: Type.Optional(flag),
  prompt_cache_key: Type.Optional(anyText),
  prompt_cache_options: Type.Optional(anyObject),
  prompt_cache_retention: Type.Optional(keyword),
  safety_identifier: Type.Optional(anyText),
  service_tier: Type.Optional(keyword),
  store: Type.Optional(
    nullable(
      Type.Boolean({ description: 'True needs a provider that speaks the format. The gateway itself keeps nothing.' }),
    ),
  ),
  stream: Type.Optional(flag),
  stream_options: Type.Optional(
    nullable(
      Type.Object(
        { include_usage: Type.Optional(flag), include_obfuscation: Type.Optional(flag) },
        { additionalProperties: false },
      ),
    ),
  ),
  temperature: Type.Optional(share(0, 2)),
  tools: Type.Optional(listOf(Typed)),
  tool_choice: Type.Optional(nullableKeywordOrObject()),
  top_logprobs: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 20 }))),
  top_p: Type.Optional(share(0, 1)),
  user: Type.Optional(anyText),
}

function nullableKeywordOrObject() {
  return Type.Unsafe<string | Readonly<Record<string, unknown>> | null>({
    type: ['string', 'object', 'null'],
    minLength: 1,
    additionalProperties: true,
  })
}
