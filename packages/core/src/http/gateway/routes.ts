import { type GatewayOperation, gatewayDialect, gatewayOperationIds, gatewayOperationOf } from '@berth/contract'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { GatewayAuthority } from '../../identity/guard/gateway-caller.ts'
import type { BodyReading } from '../body/body-reader.ts'
import type { OpenStreams } from '../connection/open-streams.ts'
import type { GatewayAdmission } from '../guard/guard.ts'
import { writePieces } from '../reply/write-pieces.ts'
import { requireMediaType } from '../request/media-type.ts'
import { RequestContract } from '../request/request-contract.ts'
import type { GatewayHandlers } from '../routing/handler.ts'
import { routerPath } from '../routing/route-match.ts'
import { judgeBody } from './body.ts'

/** The gateway, for the HTTP layer. */
export interface GatewaySurface {
  readonly handlers: GatewayHandlers
  readonly authority: GatewayAuthority
  readonly bodyLimitBytes: number
  /** A client that reads nothing for this long is disconnected. */
  readonly clientPatienceMs: number
  /** Requests in progress may continue for this long when the service stops. */
  readonly graceMs: number
}

/** Registers one route for each gateway operation, with the checks from the capability to the handler. */
export function registerGatewayRoutes(app: FastifyInstance, gateway: GatewaySurface, open: OpenStreams): void {
  for (const id of gatewayOperationIds) {
    registerRow(app, id, gatewayOperationOf(id), gateway, open)
  }
}

function registerRow(
  app: FastifyInstance,
  id: (typeof gatewayOperationIds)[number],
  row: GatewayOperation,
  gateway: GatewaySurface,
  open: OpenStreams,
): void {
  const contract = new RequestContract(row)
  const takesBody = row.body !== undefined
  app.route<{ Body: BodyReading | undefined; Params: Readonly<Record<string, unknown>> }>({
    method: row.method,
    url: routerPath(row.path),
    config: { operationId: id },
    onRequest: async request => {
      request.params = contract.params(request.params)
      const { capabilities } = admissionOf(request).caller
      if (!capabilities.has(row.capability)) throw refusal('insufficient_scope', { requiredScope: row.capability })
      if (takesBody) requireMediaType(request.headers, 'json')
    },
    handler: async (request, reply) => {
      const judged = judgeBody(request, request.body, contract, takesBody)
      const { signal, release } = leaving(reply, gateway, open)
      try {
        const { caller } = admissionOf(request)
        const { params } = request
        const dialect = gatewayDialect(row, request.headers)
        const sent = { id: request.id, caller, dialect, params, ...judged, signal }
        const answer = await gateway.handlers[id](sent)
        reply.headers(answer.headers ?? {})
        if (typeof answer.body === 'string' || Buffer.isBuffer(answer.body)) {
          return await reply.type(answer.contentType).send(answer.body)
        }
        reply.hijack()
        const end = await writePieces({
          response: reply.raw,
          headers: { ...reply.getHeaders(), 'content-type': answer.contentType, 'x-accel-buffering': 'no' },
          pieces: answer.body,
          patienceMs: gateway.clientPatienceMs,
        }).catch(ignoreBroken)
        if (end === 'stalled') request.log.warn('disconnected a client that stopped reading')
        return reply
      } finally {
        release()
      }
    },
  })
}

/** Ignores the failure of a stream that already reported it; there is nothing left to send. */
function ignoreBroken(error: unknown): 'broken' {
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
