/** Deeper than this, anything goes. */
const MAX_DEPTH = 24
const MAX_BYTES = 32 * 1024

type Schema = Record<string, unknown>

/**
 * A tool's schema as every provider of models takes it, and as arguments can be checked by: one tool whose schema is
 * refused would have the whole request refused. What is left out of it the server checks itself.
 * @returns null where it is none of an object, or too large to be handed to a model
 */
export function inputSchemaOf(given: unknown): Schema | null {
  if (!isObject(given) || given['type'] !== 'object') return null
  const { $schema: _, anyOf: _any, oneOf: _one, allOf: _all, not: _not, enum: _enum, ...rest } = given
  const schema = mended({ properties: {}, ...rest }, 0, given)
  return JSON.stringify(schema).length > MAX_BYTES ? null : schema
}

/** Keywords whose value is a schema, a list of them, or one for each name. */
const single = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'] as const
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const
const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

function mended(given: Schema, depth: number, root: Schema): Schema {
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
  // A list of anything says so, or a provider refuses it.
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

function leadsSomewhere(ref: unknown, root: Schema): boolean {
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

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
