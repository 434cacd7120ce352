import type { OpenApiDocument } from '@berth/contract'

type Node = Readonly<Record<string, unknown>>

/** Texts of which at least one fits every pattern, format and length in the document. */
const texts = [
  'a',
  '1',
  '0',
  'a'.repeat(40),
  'a'.repeat(64),
  'a'.repeat(22),
  'a'.repeat(87),
  '0b8a4c9e-3f1d-4a57-9c1e-2f6d7e8a9b0c',
  'https://example.test/',
  'a@example.test',
  '"1"',
]

const formats: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  uri: /^https:/,
}

/**
 * Returns the least value that a schema accepts: only required members without a default, the shortest list, the first
 * of several choices.
 * @throws Error for a schema that nothing here fits
 */
export function minimalValue(document: OpenApiDocument, schema: Node): unknown {
  if (typeof schema['$ref'] === 'string') {
    const referred = document.components.schemas[schema['$ref'].replace('#/components/schemas/', '')]
    if (referred === undefined) throw new Error(`${schema['$ref']} leads nowhere`)
    return minimalValue(document, referred)
  }
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (type) {
    case 'string':
      return minimalText(schema)
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 0
    case 'boolean':
      return false
    case 'array':
      return Array.from({ length: Number(schema['minItems'] ?? 0) }, () =>
        minimalValue(document, schema['items'] as Node),
      )
    case 'object':
      return minimalObject(document, schema)
    default:
      throw new Error(`no value is known for ${JSON.stringify(schema)}`)
  }
}

function minimalObject(document: OpenApiDocument, schema: Node): Node {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Node>>
  const required = ((schema['required'] ?? []) as readonly string[]).filter(
    name => !('default' in (properties[name] ?? {})),
  )
  const least = Number(schema['minProperties'] ?? 0)
  const names = [...new Set([...required, ...Object.keys(properties)])].slice(0, Math.max(required.length, least))
  return Object.fromEntries(names.map(name => [name, minimalValue(document, properties[name] ?? {})]))
}

function minimalText({ pattern, format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Node): string {
  const text = texts.find(
    text =>
      (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text)) &&
      (typeof format !== 'string' || (formats[format]?.test(text) ?? true)) &&
      text.length >= Number(minLength) &&
      text.length <= Number(maxLength),
  )
  if (text === undefined) throw new Error(`no text is known that fits ${String(pattern)} and ${String(format)}`)
  return text
}
