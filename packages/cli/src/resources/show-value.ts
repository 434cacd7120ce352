type Facts = [name: string, value: string][]

/** Returns the value at a dotted path; `.` is the value itself, and a path that leads nowhere gives undefined. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '.') return value
  let reached = value
  for (const name of path.split('.')) {
    if (typeof reached !== 'object' || reached === null) return undefined
    reached = Reflect.get(reached, name)
  }
  return reached
}

/** Returns a value as a cell of a table. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.every(item => typeof item !== 'object')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Returns the members of a thing by their dotted names; lists of objects stay JSON. */
export function factsOf(value: unknown, prefix = ''): Facts {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[prefix || 'value', cellOf(value)]]
  return Object.entries(value).flatMap(([name, member]): Facts => {
    if (member === null || member === undefined) return []
    const path = prefix === '' ? name : `${prefix}.${name}`
    return typeof member === 'object' && !Array.isArray(member) ? factsOf(member, path) : [[path, cellOf(member)]]
  })
}
