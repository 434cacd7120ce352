import { isObject, type Json } from '../json.ts'

/** Schemas nested deeper than this accept anything. */
const MAX_DEPTH = 24
const MAX_BYTES = 32 * 1024

type Schema = Record<string, unknown>

/**
 * Returns a tool's schema in a form that every model provider accepts and that the engine can validate arguments with.
 * A provider that refuses one schema refuses the whole request. The server itself checks the parts left out here.
 * @returns null if the schema does not describe an object, or is too large to send to a model
 */
export function inputSchemaOf(given: unknown): Schema | null {
  if (!isObject(given) || given['type'] !== 'object') return null
  const { $schema: _, anyOf: _any, oneOf: _one, allOf: _all, not: _not, enum: _enum, ...rest } = given
  const schema = mended({ properties: {}, ...rest }, 0, given)
  return JSON.stringify(schema).length > MAX_BYTES ? null : schema
}

/** Keywords whose value is one schema, a list of schemas, or a map of schemas. */
const single = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'] as const
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const
const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

function mended(given: Json, depth: number, root: Json): Schema {
  if (depth > MAX_DEPTH) return {}
  const schema: Schema = { ...given }
  const below = (value: unknown): unknown =>
    isObject(value) ? mended(value, depth + 1, root) : value === false ? false : {}
  const { type, pattern, $ref, required } = given
  const kinds = Array.isArray(type) ? type : [type]
  if (type !== undefined && !kinds.every(kind => types.has(kind))) delete schema['type']
  if (pattern !== undefined && !isPattern(pattern)) delete schema['pattern']
  if ($ref !== undefined && !leadsSomewhere($ref, root)) delete schema['$ref']
  if (required !== undefined && !(Array.isArray(required) && required.every(name => typeof name === 'string'))) {
    delete schema['required']
  }
  for (const key of single) if (key in schema) schema[key] = below(given[key])
  for (const key of lists) {
    if (!(key in schema)) continue
    const value = given[key]
    if (Array.isArray(value) && value.length > 0) schema[key] = value.map(below)
    else delete schema[key]
  }
  for (const key of maps) {
    if (!(key in schema)) continue
    const value = given[key]
    if (!isObject(value)) delete schema[key]
    else {
      const sound = Object.entries(value).filter(([name]) => key !== 'patternProperties' || isPattern(name))
      schema[key] = Object.fromEntries(sound.map(([name, one]) => [name, below(one)]))
    }
  }
  // Some providers refuse an array without `items`.
  if (kinds.includes('array') && !('items' in schema) && !('prefixItems' in schema)) schema['items'] = {}
  return schema
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') !== null
  } catch {
    return false
  }
}

function leadsSomewhere(ref: unknown, root: Json): boolean {
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return ref === '#'
  const steps = ref
    .slice(2)
    .split('/')
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  let at: unknown = root
  for (const step of steps) {
    if (!isObject(at) || !Object.hasOwn(at, step)) return false
    at = at[step]
  }
  return isObject(at)
}
