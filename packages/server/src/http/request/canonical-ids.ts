import type { TSchema } from 'typebox'

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/**
 * Puts every uuid of a valid value in lower case, in place: either case names the same resource (completions, Ids), and
 * nothing behind the HTTP layer has to remember it.
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
