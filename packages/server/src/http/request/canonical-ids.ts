import type { TSchema } from 'typebox'

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Lower-cases every UUID in a valid value, in place. Either case names the same resource, and code behind the HTTP
 * layer sees only one.
 */
export function lowerCaseIds(value: unknown, schema: TSchema): void {
  if (!isRecord(value)) return
  if (Array.isArray(value)) {
    const items: unknown = Reflect.get(schema, 'items')
    if (isRecord(items)) for (const index of value.keys()) lowerCaseMember(value, String(index), items)
    return
  }
  const properties: unknown = Reflect.get(schema, 'properties')
  if (isRecord(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (isRecord(property)) lowerCaseMember(value, name, property)
    }
  }
}

function lowerCaseMember(holder: Record<string, unknown>, key: string, schema: TSchema): void {
  const member = holder[key]
  if (typeof member !== 'string') lowerCaseIds(member, schema)
  else if (Reflect.get(schema, 'format') === 'uuid') holder[key] = member.toLowerCase()
}
