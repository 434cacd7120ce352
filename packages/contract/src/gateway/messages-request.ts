import { type Static, Type } from 'typebox'
import { closed, OpenObject, open } from '../scalar.ts'
import { model } from './shared-fields.ts'

/** The body of Anthropic's `count_tokens`; the provider validates the rest. */
export const CountMessageTokens = Type.Object(
  { model, messages: Type.Array(OpenObject, { minItems: 1 }) },
  {
    title: 'CountMessageTokens',
    description: "Anthropic's request body. The gateway passes all other fields on unchanged.",
    ...open,
  },
)

/** The body of `POST /v1/messages`. The provider validates the fields that the gateway does not use. */
export const CreateMessage = Type.Object(
  {
    ...CountMessageTokens.properties,
    max_tokens: Type.Integer({ minimum: 1 }),
    stream: Type.Optional(Type.Boolean()),
  },
  {
    title: 'CreateMessage',
    description: "Anthropic's request body. The gateway passes all other fields on unchanged.",
    ...open,
  },
)

export const MessagesQuery = Type.Object(
  {
    beta: Type.Optional(
      Type.Unsafe<'true'>({ type: 'string', enum: ['true'], description: 'Passed on to the provider.' }),
    ),
  },
  closed,
)

/** The only request headers that the gateway passes on. */
export const MessagesHeaders = Type.Object({
  'anthropic-version': Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'Passed on to the provider; `2023-06-01` if absent.',
    }),
  ),
  'anthropic-beta': Type.Optional(
    Type.String({
      pattern: '^[\\w., -]+$',
      maxLength: 4096,
      description: 'Names of betas, passed on to the provider.',
    }),
  ),
})

export type CreateMessage = Static<typeof CreateMessage>
