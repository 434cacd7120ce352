import { refusal } from '../api-errors.ts'
import type { BodyReading } from './body-reader.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * The JSON value of a body that was read; undefined where none came.
 * @throws ApiError 413 `request_entity_too_large`, 400 `malformed_request_body`
 */
export function parseJson(reading: BodyReading | undefined, takesBody: boolean): unknown {
  if (reading === undefined) {
    if (takesBody) throw refusal('malformed_request_body')
    return undefined
  }
  if (reading.kind === 'too_large') throw refusal('request_entity_too_large')
  if (reading.bytes.length === 0 && !takesBody) return undefined
  try {
    return JSON.parse(utf8.decode(reading.bytes))
  } catch {
    throw refusal('malformed_request_body')
  }
}
