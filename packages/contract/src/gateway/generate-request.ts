import { type Static, Type } from 'typebox'
import { closed, OpenObject, open } from '../scalar.ts'

export const GenerateStreamQuery = Type.Object(
  {
    alt: Type.Unsafe<'sse'>({
      type: 'string',
      enum: ['sse'],
      description: 'Server-sent events, the only supported stream format.',
    }),
  },
  closed,
)

/** The body of Google's `generateContent`. The provider validates the fields that the gateway does not use. */
export const GenerateContent = Type.Object(
  { contents: Type.Array(OpenObject, { minItems: 1 }) },
  {
    title: 'GenerateContent',
    description: "Google's request body. The gateway passes all other fields on unchanged.",
    ...open,
  },
)

/** The body of Google's `countTokens`: contents, or a whole request. */
export const CountContentTokens = Type.Object(
  { contents: Type.Optional(Type.Array(OpenObject)), generateContentRequest: Type.Optional(OpenObject) },
  {
    title: 'CountContentTokens',
    description: "Google's request body. The gateway passes all other fields on unchanged.",
    ...open,
  },
)

export type GenerateContent = Static<typeof GenerateContent>
