/** Stands in a request for a character that no JSON text of the gateway may hold, as it does in the Session's Events. */
const MARK = '\ufffd'

/**
 * Returns a JSON value in which U+FFFD stands for each U+0000 and each unpaired surrogate, in member names too.
 *
 * The gateway refuses a request that holds one (OpenAPI `createResponse`, 400 `invalid_request`). Commands print them,
 * files hold them and models write them, and the conversation keeps what was said: one that was sent unchanged would have
 * every later request refused as well.
 */
export function sendable(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', MARK)
  if (Array.isArray(value)) return value.map(sendable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [sendable(name) as string, sendable(member)] as const),
  )
}
