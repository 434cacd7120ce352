import { createHash } from 'node:crypto'

/**
 * Returns the replay identity of a command: SHA-256 of the validated body, with defaults filled in and keys sorted at
 * every depth. An explicit null equals absence.
 */
export function requestHash(body: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(body)).digest()
}

/** Returns a JSON value as text that equal values share: keys sorted, no white space, members that are null left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value ?? null)
  const members = Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}
