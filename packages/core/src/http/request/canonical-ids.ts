import { isObject } from '@berth/platform/kit/json.ts'
import type { TSchema } from 'typebox'

/**
 * Lower-cases every UUID in a valid value, in place. Either case names the same resource, and code behind the HTTP
 * layer sees only one.
 */
export function lowerCaseIds(value: unknown, schema: TSchema): void {
  if (Array.isArray(value)) {
    const items: unknown = Reflect.get(schema, 'items')
    if (isObject(items)) for (const index of value.keys()) lowerCaseMember(value, String(index), items)
    return
  }
  if (!isObject(value)) return
  const properties: unknown = Reflect.get(schema, 'properties')
  if (isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (isObject(property)) lowerCaseMember(value, name, property)
    }
  }
}

function lowerCaseMember(holder: object, key: string, schema: TSchema): void {
  const member: unknown = Reflect.get(holder, key)
  if (typeof member !== 'string') lowerCaseIds(member, schema)
  else if (Reflect.get(schema, 'format') === 'uuid') Reflect.set(holder, key, member.toLowerCase())
}
