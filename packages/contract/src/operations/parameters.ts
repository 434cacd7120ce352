import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { Uuid } from '../scalar.ts'

/** Path of one Session. */
export const SessionPath = Type.Object({ sessionId: Uuid })

/** Page size, never clamped (interface 8.4). */
export const pageLimit = (defaultSize: number, maximum: number = limits.pageSize) =>
  Type.Integer({ minimum: 1, maximum, default: defaultSize, description: 'Page size.' })

/** Opaque continuation of a list (interface 8.3). */
export const Cursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: limits.cursorCharacters,
    description: '`nextCursor` of the page before.',
  }),
)

/** Exclusive cursor of a Session's log (interface 4.7). */
export const AfterSequence = Type.Integer({
  minimum: 0,
  default: 0,
  description: 'Only Events with a greater sequence.',
})
