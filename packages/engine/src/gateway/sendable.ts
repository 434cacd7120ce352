/** Replaces characters that the gateway refuses in JSON text; the Session's Events use the same mark. */
const MARK = '\ufffd'

/**
 * Returns the JSON value with U+FFFD in place of each U+0000 and each unpaired surrogate, in member names too.
 *
 * The gateway refuses a request that contains one (OpenAPI `createResponse`, 400 `invalid_request`). Commands print
 * them, files contain them and models write them. The conversation keeps them, so without this replacement a single
 * one would make the gateway refuse every later request too.
 */
export function sendable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', MARK)
  if (Array.isArray(value)) return value.map(sendable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [sendable(name) as string, sendable(member)] as const),
  )
}
