import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'

/** @param param path of the value in the request, for the error message */
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

/** Returns the string, or undefined if the field is absent or null. */
export function optionalString(value: unknown, param: string): string | undefined {
  return value === undefined || value === null ? undefined : stringAt(value, param)
}
