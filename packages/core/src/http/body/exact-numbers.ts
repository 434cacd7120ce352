import { type Json, parseObject } from '@berth/platform/kit/json.ts'
import { mostLevels } from './body-reader.ts'
import { ValueCounter } from './value-counter.ts'

/** What TypeScript does not know of JSON yet. */
interface RawJson {
  rawJSON(source: string): unknown
  parse<T>(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): T
}
const { parse, rawJSON }: RawJson = JSON as unknown as RawJson

/**
 * Parses JSON once more for JSON.stringify alone, which then writes all numbers as `bytes` do. Returns `plain`, which was
 * parsed from them, if it holds all numbers itself: a body is rarely parsed twice.
 * @param counted what a {@link ValueCounter} found in `bytes`
 */
export function keepNumbers<T>(plain: T, bytes: Uint8Array, { holdsLongNumbers }: { holdsLongNumbers: boolean }): T {
  if (!holdsLongNumbers) return plain
  return parse<T>(new TextDecoder().decode(bytes), (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  )
}

/** Parses an object as it is, and as {@link keepNumbers} does; null if it is anything else, or nests too deep to be written. */
export function parseExactly(bytes: Buffer): { readonly plain: Json; readonly exact: Json } | null {
  const counter = new ValueCounter()
  counter.take(bytes)
  const plain = counter.deepest > mostLevels ? null : parseObject(bytes.toString('utf8'))
  return plain === null ? null : { plain, exact: keepNumbers(plain, bytes, counter) }
}
