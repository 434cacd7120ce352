import type { TObject } from 'typebox'
import type { RequestIssue } from './issue.ts'

/** Parameters with the types of the contract, before validation. */
export interface ParsedParameters {
  readonly values: Record<string, unknown>
  readonly issues: readonly RequestIssue[]
}

/**
 * Splits a query and types its values. A repeated name is a fault unless its schema is a list, and so is a part that does
 * not decode. A value that
 * does not match its schema's type stays text, and the validator refuses it.
 */
export function parseQuery(query: string, schema: TObject | undefined): ParsedParameters {
  const values: Record<string, unknown> = Object.create(null)
  const issues: RequestIssue[] = []
  for (const part of query.split('&').filter(part => part !== '')) {
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? '' : part.slice(equals + 1))
    if (name === null || value === null) {
      issues.push({ path: [name ?? part], message: 'must be percent-encoded UTF-8' })
    } else if (isList(schema?.properties[name])) {
      const list = values[name]
      if (Array.isArray(list)) list.push(value)
      else values[name] = [value]
    } else if (name in values) {
      issues.push({ path: [name], message: 'must not be repeated' })
    } else {
      values[name] = typed(value, schema?.properties[name])
    }
  }
  return { values, issues }
}

/** Types the header parameters of the contract, by the same rules as a query. */
export function parseHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  schema: TObject | undefined,
): ParsedParameters {
  const values: Record<string, unknown> = Object.create(null)
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const value = headers[name]
    if (value !== undefined) values[name] = typeof value === 'string' ? typed(value, property) : value
  }
  return { values, issues: [] }
}

const isList = (property: object | undefined): boolean =>
  property !== undefined && 'type' in property && property.type === 'array'

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

/**
 * Types one value. An integer must be a canonical decimal: no leading zero, no plus sign, no minus zero. An integer too
 * large to be exact becomes the largest exact one; no cursor gets there, so it still means "past the end".
 */
function typed(value: string, property: object | undefined): unknown {
  if (property === undefined || !('type' in property) || property.type !== 'integer') return value
  if (!/^(?:0|-?[1-9]\d*)$/.test(value)) return value
  const number = Number(value)
  return Math.min(Math.max(number, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}
