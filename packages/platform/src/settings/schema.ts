import Type, { type Static, type StaticDecode, type TProperties, type TSchema } from 'typebox'
import { Check, Decode, Default, Errors, Pointer } from 'typebox/value'
import { isObject } from '../kit/json.ts'
import { StartError } from '../kit/start-error.ts'
import { placeOfFault } from './json-fault.ts'
import { parseOrigin, parseWebUrl } from './web-url.ts'

export const text = Type.String({ minLength: 1 })

/** An object without other members. */
export const closed = <T extends TProperties>(members: T, options: { readonly default?: object } = {}) =>
  Type.Object(members, { ...options, additionalProperties: false })

/**
 * Adds a check that is made of values that have the type.
 * @param problem the end of a sentence that begins with the place of the value
 */
export function checked<T extends TSchema>(
  type: T,
  isRight: (value: Static<T>) => boolean,
  problem: string | ((value: Static<T>) => string),
): T {
  const check = (value: unknown) => !Check(type, value) || isRight(value as Static<T>)
  const describe = (value: unknown) => (typeof problem === 'string' ? problem : problem(value as Static<T>))
  return Type.Refine(type, check, describe) as unknown as T
}

/** A text that `parse` puts into its one spelling, if it accepts it. */
export const parsed = <V>(parse: (value: string) => V | undefined, problem: string) =>
  Type.Decode(
    checked(text, value => parse(value) !== undefined, problem),
    value => parse(value) as V,
  )

export const webUrl = parsed(parseWebUrl, 'must be an http or https URL without user, query or fragment')
export const origin = parsed(parseOrigin, 'must be an http or https origin, such as http://127.0.0.1:9000')

/** An object whose keys the file chooses. */
export const record = <T extends TSchema>(keys: RegExp, item: T) =>
  checked(
    Type.Record(Type.String(), item, { default: {} }),
    value => misnamed(value as object, keys) === undefined,
    value => `has the name ${misnamed(value as object, keys)}, which does not match ${keys.source}`,
  )

const misnamed = (value: object, keys: RegExp) => Object.keys(value).find(key => !keys.test(key))

/** A list of things with ids of their own. */
export const distinct = <T extends TSchema>(item: T, options: { readonly default?: [] } = {}) =>
  checked(
    Type.Array(item, options),
    value => twice(value as unknown[]) === undefined,
    value => `has two entries with the id ${twice(value as unknown[])}`,
  )

function twice(items: readonly unknown[]): unknown {
  const ids = items.map(item => (item as { readonly id: string }).id)
  return ids.find((id, at) => ids.indexOf(id) !== at)
}

/** What is read by a schema, as its readers take it: members that the file leaves out are undefined. */
export type Read<T> = T extends readonly (infer Item)[]
  ? readonly Read<Item>[]
  : T extends object
    ? { readonly [K in keyof Required<T>]: Read<T[K & keyof T]> }
    : T

/**
 * Reads the text of a JSON file and fills in defaults. A known member of an object that is null counts as absent.
 * @throws StartError that names the file, the place and the problem
 */
export function readBySchema<T extends TSchema>(type: T, json: string, file: string): StaticDecode<T> {
  const value = Default(type, withoutNulls(type, parseJson(json, file)))
  const [error] = Errors(type, value)
  if (error === undefined) return Decode(type, value)
  const place = Pointer.Indices(error.instancePath)
  switch (error.keyword) {
    case 'required':
      throw problemAt(file, [...place, ...error.params.requiredProperties.slice(0, 1)], 'is missing')
    case 'enum':
      throw problemAt(file, place, `must be one of ${error.params.allowedValues.join(', ')}`)
    case 'type':
      throw problemAt(file, place, `must be of type ${error.params.type}`)
    case 'boolean': {
      // Of a member that a closed object does not have.
      const members = Pointer.Get(type, error.schemaPath.slice(1).replace(/additionalProperties$/, 'properties'))
      throw problemAt(file, place, `is not known here; known are ${Object.keys(members as object).join(', ')}`)
    }
    default:
      throw problemAt(file, place, error.message)
  }
}

function parseJson(json: string, file: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new StartError(`${file}: it is not JSON: see ${placeOfFault(json)}`)
  }
}

/** Leaves out known members that are null. Any other null stays, so that the schema refuses it at its place. */
function withoutNulls(type: TSchema, value: unknown): unknown {
  if (Type.IsArray(type) && Array.isArray(value)) return value.map(item => withoutNulls(type.items, item))
  if (!isObject(value)) return value
  const members = Type.IsObject(type) ? type.properties : {}
  const others = Type.IsRecord(type) ? Type.RecordValue(type) : Type.Unknown()
  const kept = Object.entries(value).filter(([name, member]) => member !== null || !Object.hasOwn(members, name))
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(members[name] ?? others, member)]))
}

/** Makes the error for a place of a file, such as `providers[0].baseUrl`. */
export function problemAt(file: string, place: readonly string[], problem: string): StartError {
  const path = place.map(name =>
    /^\d+$/.test(name) ? `[${name}]` : /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`,
  )
  return new StartError(`${file}: ${path.join('').replace(/^\./, '') || 'it'} ${problem}`)
}
