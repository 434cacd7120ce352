import { refusal } from '@berth/platform/kit/refusal.ts'
import { type BodyReading, mostLevels } from './body-reader.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Returns the JSON value of a body, or undefined if there is none.
 * @throws ApiError 413 `request_entity_too_large`, 408 `request_timeout`, 503 `service_unavailable`, 400
 * `malformed_request_body`, or 400 `invalid_request` for more values or levels than the operation allows
 */
export function parseJson(reading: BodyReading | undefined, takesBody: boolean): unknown {
  if (reading === undefined) {
    if (takesBody) throw refusal('malformed_request_body')
    return undefined
  }
  const bytes = wholeBody(reading)
  if (bytes.length === 0 && !takesBody) return undefined
  return parseBytes(bytes)
}

/**
 * Returns the bytes of a body.
 * @throws ApiError for a body that broke a limit
 */
export function wholeBody(reading: BodyReading): Buffer {
  switch (reading.kind) {
    case 'read':
      return reading.bytes
    case 'too_large':
      throw refusal('request_entity_too_large')
    case 'too_many_values':
      throw refusal('invalid_request', {
        issues: [{ path: [], message: 'holds more values than this operation allows' }],
      })
    case 'too_deep':
      throw refusal('invalid_request', { issues: [{ path: [], message: `nests deeper than ${mostLevels} levels` }] })
    case 'not_json':
      throw refusal('malformed_request_body')
    case 'no_room':
      throw refusal('service_unavailable')
    case 'too_slow':
      // The rest of the body may never arrive, so the connection cannot be reused.
      throw refusal('request_timeout', {}, undefined, { connection: 'close' })
  }
}

/**
 * Parses JSON in UTF-8.
 * @throws ApiError 400 `malformed_request_body`
 */
export function parseBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    throw refusal('malformed_request_body')
  }
}
