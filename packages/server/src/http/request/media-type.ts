import type { IncomingHttpHeaders } from 'node:http'
import { refusal } from '../../kit/refusal.ts'

const json = /^application\/(?:json|[!#$&^_.+a-z0-9-]+\+json)$/
const utf8 = /^"?utf-?8"?$/i

/** Whether a Content-Type is JSON in UTF-8 (interface part 4). */
export function isJson(contentType: string): boolean {
  const [essence = '', ...parameters] = contentType.split(';')
  if (!json.test(essence.trim().toLowerCase())) return false
  return parameters.every(parameter => {
    const [name = '', value = ''] = parameter.split('=')
    return name.trim().toLowerCase() !== 'charset' || utf8.test(value.trim())
  })
}

/** Whether a request announces a body. */
export const announcesBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Whether a Content-Type is that of a multipart form, whatever its boundary is worth. */
export const isForm = (contentType: string): boolean =>
  contentType.split(';', 1)[0]?.trim().toLowerCase() === 'multipart/form-data'

/**
 * Judges a body by its headers, before any of it is read. An operation with a body takes nothing but JSON, or a form;
 * one without minds the type only of what was sent all the same. A coded body (`Content-Encoding`) is not taken.
 * @throws ApiError 415, with the type unless none was sent
 */
export function requireMediaType(headers: IncomingHttpHeaders, takes: 'json' | 'form' | 'nothing'): void {
  if (takes === 'nothing' && !announcesBody(headers)) return
  const sent = headers['content-type']
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (sent !== undefined && (takes === 'form' ? isForm(sent) : isJson(sent)) && coding === 'identity') return
  throw refusal('unsupported_media_type', sent === undefined ? {} : { mediaType: sent })
}
