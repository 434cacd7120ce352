import { type Static, Type } from 'typebox'
import { closed, OpenObject, open } from '../scalar.ts'
import { model } from './shared-fields.ts'

export const GeneratePath = Type.Object({ model })

export const GenerateStreamQuery = Type.Object(
  { alt: Type.Unsafe<'sse'>({ type: 'string', enum: ['sse'], description: 'The one form of stream there is.' }) },
  closed,
)

/** The body of Google's `generateContent`. What the gateway does not go by is the provider's to judge. */
export const GenerateContent = Type.Object(
  { contents: Type.Array(OpenObject, { minItems: 1 }) },
  { title: 'GenerateContent', description: "Google's; fields beyond these are passed on as they are.", ...open },
)

/** The body of a count: contents, or a whole request. */
export const CountContentTokens = Type.Object(
  { contents: Type.Optional(Type.Array(OpenObject)), generateContentRequest: Type.Optional(OpenObject) },
  { title: 'CountContentTokens', description: "Google's; fields beyond these are passed on as they are.", ...open },
)

export type GenerateContent = Static<typeof GenerateContent>
