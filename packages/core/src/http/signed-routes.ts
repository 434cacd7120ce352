import { type OperationId, operationOf, type SignedOperationId, signedOperationIds } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance } from 'fastify'
import type { AddressMeter } from '../identity/guard/address-meter.ts'
import type { BodyReading } from './body/body-reader.ts'
import { wholeBody } from './body/json-body.ts'
import type { OpenStreams } from './connection/open-streams.ts'
import { refuseEmptyBucket } from './guard/guard.ts'
import { rateLimitHeaders } from './guard/rate-limit-headers.ts'
import { answerSchemas } from './reply/lazy-serializer.ts'
import { sendReply } from './reply/send-reply.ts'
import { requireMediaType } from './request/media-type.ts'
import { RequestContract } from './request/request-contract.ts'
import type { AnyHandler, Handlers } from './routing/handler.ts'
import { routerPath, signedPaths } from './routing/route-match.ts'

/**
 * Registers a route for each operation whose senders sign the body. Nothing of a body is read as JSON before its handler
 * has verified it, and the meter limits senders by their address.
 */
export function registerSignedRoutes(
  app: FastifyInstance,
  handlers: Pick<Handlers, SignedOperationId>,
  meter: Pick<AddressMeter, 'take'>,
  open: OpenStreams,
): void {
  for (const id of signedOperationIds) {
    const handle = handlers[id]
    if (handle === undefined) continue
    for (const path of signedPaths(operationOf(id).path)) {
      register(app, { id, path }, handle as AnyHandler, meter, open)
    }
  }
}

function register(
  app: FastifyInstance,
  { id, path }: { readonly id: OperationId; readonly path: string },
  handle: AnyHandler,
  meter: Pick<AddressMeter, 'take'>,
  open: OpenStreams,
): void {
  const row = operationOf(id)
  const contract = new RequestContract(row)
  app.route<{ Body: BodyReading | undefined }>({
    method: row.method,
    url: routerPath(path),
    config: { operationId: id },
    schema: answerSchemas(row),
    onRequest: async (request, reply) => {
      const verdict = await meter.take(request.ip)
      reply.headers(rateLimitHeaders(verdict.metering))
      if (verdict.kind === 'limited') throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
      request.params = contract.params(request.params)
      requireMediaType(request.headers, 'json')
    },
    handler: async ({ body: reading, params, headers }, reply) => {
      if (reading === undefined) throw refusal('malformed_request_body')
      return await sendReply(reply, await handle({ params, headers, bytes: wholeBody(reading) }), open)
    },
  })
}
