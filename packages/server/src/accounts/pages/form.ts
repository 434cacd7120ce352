import type { FastifyRequest } from 'fastify'
import { refusal } from '../../kit/refusal.ts'

/** Room for a long password and a state, each percent-encoded. */
const MOST_BYTES = 16 * 1024

/**
 * Reads the fields that a page's form sent.
 *
 * @throws ApiError 415 if it is no form, 413 if it is larger than any form of these pages
 */
export async function readForm(request: FastifyRequest): Promise<URLSearchParams> {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== 'application/x-www-form-urlencoded') throw refusal('unsupported_media_type')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request.raw) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw refusal('request_entity_too_large', {}, undefined, { connection: 'close' })
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}
