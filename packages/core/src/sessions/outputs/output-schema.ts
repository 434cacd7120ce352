import { outputLimits as bounds } from '@berth/contract'
import { asObject, type Json } from '@berth/platform/kit/json.ts'
import { PatternRefused, toLinearSyntax } from '@berth/platform/kit/pattern-syntax.ts'
import { invalidField } from '@berth/platform/kit/refusal.ts'
import type { AnySchema } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { formats, issueOf } from '../../http/request/validator.ts'
import { depthOf } from './depth.ts'

type Path = readonly (string | number)[]

const isTime = (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)

/** Formats that a schema may name. */
export const outputFormats = {
  ...formats,
  'date-time': (text: string) => isTime(text) && !Number.isNaN(Date.parse(text)),
}

const dialects = ['https://json-schema.org/draft/2020-12/schema', 'http://json-schema.org/draft-07/schema#']

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const single = [
  ...['additionalProperties', 'items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const named = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
const plain = [
  ...['$schema', '$comment', '$ref', 'type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum'],
  ...['exclusiveMinimum', 'maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'maxContains'],
  ...['minContains', 'maxProperties', 'minProperties', 'required', 'dependentRequired', 'title', 'description'],
  ...['default', 'deprecated', 'readOnly', 'writeOnly', 'examples', 'format', 'contentEncoding', 'contentMediaType'],
]
const known: ReadonlySet<string> = new Set([...single, ...listed, ...named, ...plain])

const meta = new Ajv2020({ strict: false, logger: false, validateFormats: false })

/**
 * Refuses a schema that no value can be held against, or that could take too long.
 * @param path the field of the request that holds the schema
 * @throws ApiError 400 `invalid_request`, whose issue names the place in the schema and the mending
 */
export function checkOutputSchema(schema: Json, path: Path): void {
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > bounds.schemaBytes) {
    throw invalidField(path, `has ${bytes} bytes; at most ${bounds.schemaBytes} are accepted`)
  }
  // Comes before anything that calls itself.
  if (depthOf(schema, bounds.schemaDepth) > bounds.schemaDepth) {
    throw invalidField(path, `is nested deeper than ${bounds.schemaDepth} levels; move parts into $defs`)
  }
  const { $schema, ...bare } = schema
  if ($schema !== undefined && !dialects.includes(String($schema))) {
    throw invalidField([...path, '$schema'], `must be ${dialects[0]}, or left out`)
  }
  if (meta.validate(dialects[0] ?? '', bare) !== true) {
    const [fault] = meta.errors ?? []
    const issue = fault === undefined ? { path: [], message: 'is not a JSON schema' } : issueOf(fault, bare)
    throw invalidField([...path, ...issue.path], `is not JSON Schema 2020-12: ${issue.message}`)
  }
  const walk = new Walk(schema, path)
  walk.count(schema, path)
  walk.definitions()
}

/** Visits every schema within a schema, definitions at each place that refers to them. */
class Walk {
  readonly #root: Json
  readonly #path: Path
  readonly #sizes = new Map<string, number>()
  readonly #open = new Set<string>()

  constructor(root: Json, path: Path) {
    this.#root = root
    this.#path = path
  }

  /** Visits definitions that nothing refers to, which are compiled all the same. */
  definitions(): void {
    for (const keyword of ['$defs', 'definitions']) {
      for (const name of Object.keys(asObject(this.#root[keyword]))) this.#sizeOf(keyword, name)
    }
  }

  /** @returns the number of schemas that a value is held against at most */
  count(schema: unknown, path: Path): number {
    if (typeof schema === 'boolean') return 1
    const members = asObject(schema)
    let count = 1
    const add = (size: number) => {
      count += size
      if (count > bounds.schemas) {
        throw invalidField(path, `holds more than ${bounds.schemas} schemas, counting $defs at each use; simplify it`)
      }
    }
    for (const [keyword, value] of Object.entries(members)) {
      const at = [...path, keyword]
      if (!known.has(keyword)) throw invalidField(at, 'is no keyword that is accepted here; remove it')
      if (keyword === '$ref') add(this.#refer(String(value), at))
      if (keyword === 'pattern') refusePattern(String(value), at)
      if (keyword === 'format' && !Object.hasOwn(outputFormats, String(value))) {
        throw invalidField(at, `must be one of ${Object.keys(outputFormats).join(', ')}; or use a pattern`)
      }
      if (single.includes(keyword)) add(this.count(value, at))
      if (listed.includes(keyword))
        for (const [index, each] of asList(value).entries()) add(this.count(each, [...at, index]))
      if (named.includes(keyword)) {
        if (keyword === '$defs' || keyword === 'definitions') {
          if (members !== this.#root) throw invalidField(at, 'must be at the top of the schema')
          continue
        }
        for (const [name, each] of Object.entries(asObject(value))) {
          if (keyword === 'patternProperties') refusePattern(name, [...at, name])
          add(this.count(each, [...at, name]))
        }
      }
    }
    return count
  }

  #refer(reference: string, path: Path): number {
    const [, keyword, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []
    if (keyword === undefined || name === undefined) {
      throw invalidField(path, 'must be "#/$defs/" and the name of a definition in this schema; nothing is fetched')
    }
    const decoded = decode(name)
    if (!Object.hasOwn(asObject(this.#root[keyword]), decoded)) {
      throw invalidField(path, `refers to a definition that ${keyword} does not have`)
    }
    if (this.#open.has(`${keyword}/${decoded}`)) {
      throw invalidField(path, 'refers to a schema that it is part of; write out as many levels as you need')
    }
    return this.#sizeOf(keyword, decoded)
  }

  #sizeOf(keyword: string, name: string): number {
    const key = `${keyword}/${name}`
    const counted = this.#sizes.get(key)
    if (counted !== undefined) return counted
    this.#open.add(key)
    const size = this.count(asObject(this.#root[keyword])[name], [...this.#path, keyword, name])
    this.#open.delete(key)
    this.#sizes.set(key, size)
    return size
  }
}

/** Refuses a pattern that cannot be matched in linear time. It is only translated here, which is linear in the pattern. */
function refusePattern(pattern: string, path: Path): void {
  if (Array.from(pattern).length > bounds.patternCharacters) {
    throw invalidField(path, `is longer than ${bounds.patternCharacters} characters; shorten it`)
  }
  try {
    toLinearSyntax(pattern)
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error
    throw invalidField(path, `the pattern ${JSON.stringify(pattern)} ${error.message}`)
  }
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return name
  }
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns a checked schema as the validator takes it. */
export const bareSchema = ({ $schema: _, ...schema }: Json): AnySchema => schema
