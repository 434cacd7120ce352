import { isObject, type Json } from '../../kit/json.ts'
import { refuse } from '../formats/refuse.ts'

/** @param param where the value stands in the request, as the refusal names it */
export function objectAt(value: unknown, param: string): Json {
  if (!isObject(value)) throw refuse(param, `${param} must be an object.`)
  return value
}

export function stringAt(value: unknown, param: string): string {
  if (typeof value !== 'string') throw refuse(param, `${param} must be a string.`)
  return value
}

export function arrayAt(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) throw refuse(param, `${param} must be an array.`)
  return value
}

/** The string, or undefined for a field that is absent or null. */
export function optionalString(value: unknown, param: string): string | undefined {
  return value === undefined || value === null ? undefined : stringAt(value, param)
}
