import { type TSchema, Type } from 'typebox'
import { limits } from '../limits.ts'
import { Uuid } from '../scalar.ts'

/** Path of one Session. */
export const SessionPath = Type.Object({ sessionId: Uuid })

/** Page size; a value out of range is refused, never clamped. */
export const pageLimit = (defaultSize: number, maximum: number = limits.pageSize) =>
  Type.Integer({ minimum: 1, maximum, default: defaultSize, description: 'Largest number of items in the page.' })

/** Opaque continuation of a list. */
export const Cursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: limits.cursorCharacters,
    description: '`nextCursor` of the previous page.',
  }),
)

/** Exclusive cursor into a Session's log. */
export const AfterSequence = Type.Integer({
  minimum: 0,
  default: 0,
  description: 'Returns only Events with a greater sequence.',
})

/** Answers of a write under an id of the caller's: a repeated request has the answer of the first. */
export const admitted = <S extends TSchema>(name: string, schema: S) => ({
  201: { description: `The ${name} was admitted.`, schema },
  200: { description: `An earlier request with the same body created the ${name}.`, schema },
})
