import { type Static, type TSchema, Type } from 'typebox'

/** A resource id, accepted in either case and always answered in lower case (interface 2.1). */
export const Uuid = Type.String({ format: 'uuid' })

/** An ISO 8601 instant (interface 2.1). */
export const DateTime = Type.String({ format: 'date-time' })

/** SHA-256 in lower-case hexadecimal. */
export const Sha256 = Type.String({ pattern: '^[a-f0-9]{64}$' })

interface TextOptions {
  readonly description?: string
  readonly pattern?: string
}

/** Text of at most `maxLength` code points. */
export const text = (maxLength: number, options: TextOptions = {}) => Type.String({ maxLength, ...options })

/** Text of at least one and at most `maxLength` code points. */
export const someText = (maxLength: number, options: TextOptions = {}) =>
  Type.String({ minLength: 1, maxLength, ...options })

/** A count or a size. */
export const Count = Type.Integer({ minimum: 0 })

/** A JSON object whose members the contract does not name. */
export const OpenObject = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true })

/** An object of a response: members beyond those named may come (interface 2.1). */
export const open = { additionalProperties: true } as const

/** An object of a request: members beyond those named are refused (interface 2.1). */
export const closed = { additionalProperties: false } as const

/**
 * The schema or null. It widens `type` instead of wrapping in `anyOf`, so that a fault is reported once. For schemas
 * that are no components of their own, because a copy would carry the component's title.
 */
export const nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })

/** A string that is open by contract, with the values known today as examples (interface part 9). */
export const openString = (examples: readonly string[], description?: string) =>
  Type.String({ examples: [...examples], ...(description === undefined ? {} : { description }) })
