/** Returns the value at a path such as `issue.labels.0.name`; undefined if there is none. Only own members count. */
export function fieldAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** Returns the text or the number at a path, as text; null for anything else. */
export function textAt(payload: unknown, path: string): string | null {
  const value = fieldAt(payload, path)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}

/** Returns the conversation that a payload belongs to, by the first of the fields that is there; null if none is. */
export function threadOf(payload: unknown, fields: readonly string[] | null): string | null {
  for (const field of fields ?? []) {
    const text = textAt(payload, field)
    if (text !== null) return text
  }
  return null
}
