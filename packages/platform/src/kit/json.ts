/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns an object; one without members for anything else. */
export const asObject = (value: unknown): Json => (isObject(value) ? value : {})

/** Parses the text of an object; null if it is anything else. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** What TypeScript does not know of JSON yet. */
interface RawJson {
  rawJSON(source: string): unknown
  parse<T>(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): T
}
const { parse, rawJSON }: RawJson = JSON as unknown as RawJson

/** Numbers of more than 15 digits or with an exponent of three: JavaScript's hold any other. */
const longNumber = /[:,[\s](-?(?:[\d.]{16}[\d.eE+-]*|[\d.]+[eE][+-]?\d{3,}))/g

/**
 * Parses JSON once more for JSON.stringify alone, which then writes all numbers as `bytes` do. Returns `plain`, which was
 * parsed from them, if it holds all numbers itself: a body is rarely parsed twice.
 */
export function keepNumbers<T>(plain: T, bytes: Buffer): T {
  const isHeld = ([, source]: RegExpExecArray) => String(Number(source)) === source
  if (bytes.toString('latin1').matchAll(longNumber).every(isHeld)) return plain
  return parse<T>(new TextDecoder().decode(bytes), (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  )
}
