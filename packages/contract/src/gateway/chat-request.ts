import { type Static, Type } from 'typebox'
import { closed, nullable, OpenObject } from '../scalar.ts'
import { membersInside } from './ignored-members.ts'
import { anyObject, commonFields, flag, keyword, listOf, model, positive, share } from './shared-fields.ts'

const Message = Type.Unsafe<Readonly<Record<string, unknown>> & { readonly role: string }>({
  type: 'object',
  required: ['role'],
  properties: { role: { type: 'string', enum: ['developer', 'system', 'user', 'assistant', 'tool', 'function'] } },
  additionalProperties: true,
})

/** The body of `POST /v1/chat/completions`: every field that OpenAI documents, and no other. */
export const CreateChatCompletion = Type.Object(
  {
    ...commonFields,
    model,
    messages: Type.Array(Message, { minItems: 1, description: membersInside }),
    max_completion_tokens: Type.Optional(positive),
    max_tokens: Type.Optional(positive),
    n: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 128 }))),
    stop: Type.Optional(
      Type.Unsafe<string | readonly string[] | null>({ type: ['string', 'array', 'null'], items: { type: 'string' } }),
    ),
    frequency_penalty: Type.Optional(share(-2, 2)),
    presence_penalty: Type.Optional(share(-2, 2)),
    logit_bias: Type.Optional(anyObject),
    logprobs: Type.Optional(flag),
    seed: Type.Optional(nullable(Type.Integer())),
    reasoning_effort: Type.Optional(keyword),
    verbosity: Type.Optional(keyword),
    response_format: Type.Optional(anyObject),
    modalities: Type.Optional(listOf(Type.String())),
    audio: Type.Optional(anyObject),
    prediction: Type.Optional(anyObject),
    web_search_options: Type.Optional(anyObject),
    functions: Type.Optional(listOf(OpenObject)),
    function_call: Type.Optional(
      Type.Unsafe<string | Readonly<Record<string, unknown>> | null>({
        type: ['string', 'object', 'null'],
        additionalProperties: true,
      }),
    ),
  },
  {
    title: 'CreateChatCompletion',
    description: "OpenAI's request body. Fields that OpenAI does not document are refused.",
    ...closed,
  },
)

export type CreateChatCompletion = Static<typeof CreateChatCompletion>
