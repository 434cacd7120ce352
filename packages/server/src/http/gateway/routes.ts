import { type GatewayOperation, gatewayDialect, gatewayOperationIds, gatewayOperationOf } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayAuthority } from '../../identity/guard/gateway-caller.ts'
import { ClientLeft } from '../../kit/client-left.ts'
import { refusal } from '../../kit/refusal.ts'
import { UpstreamError } from '../../kit/upstream-error.ts'
import type { BodyJudge } from '../body/body-judge.ts'
import type { BodyReading } from '../body/body-reader.ts'
import type { RequestBodies } from '../body/request-bodies.ts'
import type { OpenStreams } from '../connection/open-streams.ts'
import type { GatewayAdmission } from '../guard/guard.ts'
import { writePieces } from '../reply/write-pieces.ts'
import { requireMediaType } from '../request/media-type.ts'
import { RequestContract } from '../request/request-contract.ts'
import type { GatewayHandlers } from '../routing/handler.ts'
import { routerPath } from '../routing/route-match.ts'
import { isLarge, judgeBody, judgeLargeBody, readAhead } from './body.ts'

/** The gateway, for the HTTP layer. */
export interface GatewaySurface {
  readonly handlers: GatewayHandlers
  readonly authority: GatewayAuthority
  /** Members that may be replaced in a request's body on its way to a provider. */
  readonly settableMembers: readonly string[]
  readonly bodyLimitBytes: number
  /** A client that reads nothing for this long is disconnected. */
  readonly clientPatienceMs: number
  /** Requests in progress may continue for this long when the service stops. */
  readonly graceMs: number
}

/** Parts that the gateway's routes share with the rest of the HTTP layer. */
interface Shared {
  readonly bodies: RequestBodies
  readonly judge: BodyJudge
  readonly open: OpenStreams
}

/** Registers one route for each gateway operation, with the checks from the capability to the handler. */
export function registerGatewayRoutes(app: FastifyInstance, gateway: GatewaySurface, shared: Shared): void {
  for (const id of gatewayOperationIds) {
    registerRow(app, id, gatewayOperationOf(id), gateway, shared)
  }
}

function registerRow(
  app: FastifyInstance,
  id: (typeof gatewayOperationIds)[number],
  row: GatewayOperation,
  gateway: GatewaySurface,
  { bodies, judge, open }: Shared,
): void {
  const contract = new RequestContract(row)
  const takesBody = row.body !== undefined
  const small = (request: FastifyRequest, reading: BodyReading | undefined) =>
    judgeBody(request, reading, contract, takesBody)
  const bodyOf = (request: FastifyRequest, reading: BodyReading | undefined) =>
    reading !== undefined && isLarge(reading)
      ? judgeLargeBody(request, reading, { operation: id, settableMembers: gateway.settableMembers }, judge)
      : small(request, reading)
  app.route<{ Body: BodyReading | undefined; Params: Readonly<Record<string, unknown>> }>({
    method: row.method,
    url: routerPath(row.path),
    config: {
      operationId: id,
      ...(takesBody && {
        readAhead: request => readAhead(request, bodies.gateway, reading => small(request, reading)),
      }),
    },
    onRequest: async request => {
      request.params = contract.params(request.params)
      const { capabilities } = admissionOf(request).caller
      if (!capabilities.has(row.capability)) throw refusal('insufficient_scope', { requiredScope: row.capability })
      if (takesBody) requireMediaType(request.headers, 'json')
    },
    handler: async (request, reply) => {
      // The body may have been read ahead, but must not be kept if the budget has no room for it.
      const ahead = request.body?.kind === 'no_room' ? undefined : await request.bodyAhead
      const asked = ahead?.() ?? (await bodyOf(request, request.body))
      const { signal, release } = leaving(reply, gateway, open)
      try {
        const { caller } = admissionOf(request)
        const { params } = request
        const dialect = gatewayDialect(row, request.headers)
        const sent = { id: request.id, caller, dialect, params, ...asked, signal }
        const answer = await gateway.handlers[id](sent)
        if (typeof answer.body === 'string' || Buffer.isBuffer(answer.body)) {
          return await reply.type(answer.contentType).send(answer.body)
        }
        reply.hijack()
        const end = await writePieces({
          response: reply.raw,
          headers: { ...reply.getHeaders(), 'content-type': answer.contentType, 'x-accel-buffering': 'no' },
          pieces: answer.body,
          patienceMs: gateway.clientPatienceMs,
        }).catch(sayNoMore)
        if (end === 'stalled') request.log.warn('disconnected a client that stopped reading')
        return reply
      } finally {
        release()
      }
    },
  })
}

/** Ignores the failure of a stream that already reported it; there is nothing left to send. */
function sayNoMore(error: unknown): 'broken' {
  if (error instanceof UpstreamError) return 'broken'
  throw error
}

function admissionOf(request: { readonly gatewayAdmission: GatewayAdmission | null }): GatewayAdmission {
  if (request.gatewayAdmission === null)
    throw new Error("the request reached a gateway route without passing the gateway's guard")
  return request.gatewayAdmission
}

/** Returns a signal that aborts when the client leaves, or `graceMs` after the service begins to stop. */
function leaving(
  reply: FastifyReply,
  { graceMs }: GatewaySurface,
  open: OpenStreams,
): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  const left = () => controller.abort(new ClientLeft('the client left'))
  if (reply.raw.destroyed) left()
  reply.raw.once('close', left)
  let grace: NodeJS.Timeout | undefined
  const forget = open.add(() => {
    grace = setTimeout(() => controller.abort(refusal('service_unavailable')), graceMs)
  })
  return {
    signal: controller.signal,
    release: () => {
      reply.raw.off('close', left)
      clearTimeout(grace)
      forget()
    },
  }
}
