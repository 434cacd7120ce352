import { type Static, type TSchema, Type } from 'typebox'

/** A resource id; accepted in either case, always returned in lower case. */
export const Uuid = Type.String({ format: 'uuid' })

/** An ISO 8601 instant. */
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

/** A JSON object whose members the contract does not define. */
export const OpenObject = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true })

/** For objects of responses: further members may appear. */
export const open = { additionalProperties: true } as const

/** For objects of requests: further members are refused. */
export const closed = { additionalProperties: false } as const

/**
 * Returns the schema of a request's part as responses have it: every object in it may get further members.
 * @param title of the component, if the part has one; a title names one schema
 */
export const opened = <T extends TSchema>(schema: T, title?: string) =>
  Type.Unsafe<Static<T>>({ ...withoutClosed(schema), ...(title !== undefined && { title }) })

function withoutClosed(node: object): object {
  const each = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    return Array.isArray(value) ? value.map(each) : withoutClosed(value)
  }
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) =>
      key === 'additionalProperties' && value === false ? [key, true] : [key, each(value)],
    ),
  )
}

/**
 * Returns a schema that also accepts null. It widens `type` instead of using `anyOf`, so that validation reports a
 * fault once. Use it only for schemas without a title, because a copy would carry the component's title.
 */
export const nullable = <T extends TSchema & { type: string }>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'] })

/** Returns the schema of a string whose set of values is open, with the known values as examples. */
export const openString = (examples: readonly string[], description?: string) =>
  Type.String({ examples: [...examples], ...(description === undefined ? {} : { description }) })
