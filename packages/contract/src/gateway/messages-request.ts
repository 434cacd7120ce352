import { type Static, Type } from 'typebox'
import { closed, OpenObject, open } from '../scalar.ts'
import { model } from './shared-fields.ts'

/** The body of a count: what is counted, for the provider to judge. */
export const CountMessageTokens = Type.Object(
  { model, messages: Type.Array(OpenObject, { minItems: 1 }) },
  { title: 'CountMessageTokens', description: "Anthropic's; fields beyond these are passed on as they are.", ...open },
)

/** The body of `POST /v1/messages`. What the gateway does not go by is the provider's to judge. */
export const CreateMessage = Type.Object(
  {
    ...CountMessageTokens.properties,
    max_tokens: Type.Integer({ minimum: 1 }),
    stream: Type.Optional(Type.Boolean()),
  },
  { title: 'CreateMessage', description: "Anthropic's; fields beyond these are passed on as they are.", ...open },
)

export const MessagesQuery = Type.Object(
  { beta: Type.Optional(Type.Unsafe<'true'>({ type: 'string', enum: ['true'], description: 'Passed on.' })) },
  closed,
)

/** All that is passed on of a request's headers. */
export const MessagesHeaders = Type.Object({
  'anthropic-version': Type.Optional(
    Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'Passed on; `2023-06-01` where absent.' }),
  ),
  'anthropic-beta': Type.Optional(
    Type.String({ pattern: '^[\\w., -]+$', maxLength: 4096, description: 'Names of betas, passed on.' }),
  ),
})

export type CreateMessage = Static<typeof CreateMessage>
