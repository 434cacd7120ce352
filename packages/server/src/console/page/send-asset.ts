import { createReadStream } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptedVariant } from './accepted-variant.ts'
import type { Asset } from './built-page.ts'

/** Sends a file in a coding that the request accepts, or 304 if the caller has it. @param more headers of every answer */
export function sendAsset(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, variants, tag }: Asset,
  more: Readonly<Record<string, string>>,
): FastifyReply {
  const variant = acceptedVariant(variants, headers['accept-encoding'])
  reply.headers({
    'cache-control': tag === null ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'Accept-Encoding',
    ...(tag !== null && { etag: tag }),
    ...more,
  })
  if (tag !== null && headers['if-none-match'] === tag) return reply.code(304).send()
  return reply
    .headers({
      'content-length': String(variant.bytes),
      ...(variant.coding !== null && { 'content-encoding': variant.coding }),
    })
    .type(type)
    .send(createReadStream(variant.file))
}
