import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyRequest } from 'fastify'
import { defaultBodyBounds } from '../../http/body/body-budget.ts'
import { readBody } from '../../http/body/body-reader.ts'
import { wholeBody } from '../../http/body/json-body.ts'

/** Room for a long password and a state, each percent-encoded. */
const MOST_BYTES = 16 * 1024

/**
 * Reads the fields that a page's form sent.
 *
 * @throws ApiError 415 if it is no form, 413 if it is larger than any form of these pages, 408 if it takes too long, 400
 *   if it holds U+0000, which no keyboard sends and no database keeps
 * @throws ClientLeft if the client breaks off
 */
export async function readForm(
  request: Pick<FastifyRequest, 'headers' | 'raw'>,
  { patienceMs }: { readonly patienceMs: number } = defaultBodyBounds,
): Promise<URLSearchParams> {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== 'application/x-www-form-urlencoded') throw refusal('unsupported_media_type')
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  const limits = { bytes: MOST_BYTES, values: Number.POSITIVE_INFINITY, patienceMs }
  const reading = await readBody(request.raw, announced, limits)
  if (reading.kind === 'too_large') throw refusal('request_entity_too_large', {}, undefined, { connection: 'close' })
  const form = new URLSearchParams(wholeBody(reading).toString('utf8'))
  if ([...form].flat().some(text => text.includes('\0'))) throw refusal('invalid_request')
  return form
}
