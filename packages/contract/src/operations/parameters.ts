import { Type } from 'typebox'
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
