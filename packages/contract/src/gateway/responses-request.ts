import { type Static, Type } from 'typebox'
import { closed, nullable, OpenObject } from '../scalar.ts'
import { membersInside } from './ignored-members.ts'
import { anyObject, anyText, commonFields, keyword, listOf, model, positive } from './shared-fields.ts'

const anything = Type.Unsafe<unknown>({})

/**
 * The body of `POST /v1/responses`: every field that OpenAI documents, and no other. Fields that refer to state kept by
 * the gateway are listed so that the gateway can refuse them by name.
 */
export const CreateResponse = Type.Object(
  {
    ...commonFields,
    model,
    input: Type.Unsafe<string | readonly Readonly<Record<string, unknown>>[]>({
      type: ['string', 'array'],
      items: OpenObject,
      description: `Text, or a list of items: messages, calls, call outputs and reasoning. ${membersInside}`,
    }),
    instructions: Type.Optional(anyText),
    max_output_tokens: Type.Optional(positive),
    max_tool_calls: Type.Optional(positive),
    reasoning: Type.Optional(anyObject),
    text: Type.Optional(
      nullable(
        Type.Object(
          { format: Type.Optional(anyObject), verbosity: Type.Optional(keyword) },
          { additionalProperties: false },
        ),
      ),
    ),
    include: Type.Optional(
      nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
          description:
            'Needs a provider that speaks the format, except for `reasoning.encrypted_content`, which an answer has anyway.',
        }),
      ),
    ),
    truncation: Type.Optional(keyword),
    context_management: Type.Optional(listOf(OpenObject)),
    prompt: Type.Optional(anyObject),
    image: Type.Optional(anyObject),
    access_programs: Type.Optional(anything),
    // Undocumented, but every Codex sends it.
    client_metadata: Type.Optional(anyObject),
    background: Type.Optional(
      nullable(Type.Boolean({ description: 'Must not be true: the gateway does not answer later.' })),
    ),
    previous_response_id: Type.Optional(
      nullable(
        Type.String({ description: 'Must be null: the gateway keeps nothing, so send the earlier items again.' }),
      ),
    ),
    conversation: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['string', 'object', 'null'],
        description: 'Must be null: the gateway keeps nothing, so send the earlier items again.',
      }),
    ),
  },
  {
    title: 'CreateResponse',
    description: "OpenAI's request body. Fields that OpenAI does not document are refused.",
    ...closed,
  },
)

export type CreateResponse = Static<typeof CreateResponse>
