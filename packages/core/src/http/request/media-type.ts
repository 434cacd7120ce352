import type { IncomingHttpHeaders } from 'node:http'
import { refusal } from '@berth/platform/kit/refusal.ts'

const json = /^application\/(?:json|[!#$&^_.+a-z0-9-]+\+json)$/
const utf8 = /^"?utf-?8"?$/i

/** Returns whether a Content-Type is JSON in UTF-8. */
export function isJson(contentType: string): boolean {
  const [essence = '', ...parameters] = contentType.split(';')
  if (!json.test(essence.trim().toLowerCase())) return false
  return parameters.every(parameter => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim().toLowerCase() !== 'charset' || utf8.test(value.trim())
  })
}

/** Returns whether a request announces a body. */
export const announcesBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const is = (essence: string) => (contentType: string) => contentType.split(';', 1)[0]?.trim().toLowerCase() === essence

/** Returns whether a Content-Type is a multipart form; its boundary is not checked. */
export const isForm = is('multipart/form-data')

const accepted = {
  json: isJson,
  form: isForm,
  'application/octet-stream': is('application/octet-stream'),
  'application/zip': is('application/zip'),
} as const

/**
 * Checks a body by its headers, before reading any of it. An operation with a body accepts only JSON, only a form, or only
 * bytes of one media type. An operation without one checks the type only if the client sends a body anyway. Encoded
 * bodies (`Content-Encoding`) are refused.
 * @throws ApiError 415, with the media type if one was sent
 */
export function requireMediaType(headers: IncomingHttpHeaders, takes: 'nothing' | keyof typeof accepted): void {
  if (takes === 'nothing' && !announcesBody(headers)) return
  const sent = headers['content-type']
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (sent !== undefined && accepted[takes === 'nothing' ? 'json' : takes](sent) && coding === 'identity') return
  throw refusal('unsupported_media_type', sent === undefined ? {} : { mediaType: sent })
}
