import { type Dialect, keyHeaders, type Operation, type OperationId, operationOf } from '@berth/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayAuthority } from '../../identity/guard/gateway-caller.ts'
import type { Authority } from '../../identity/guard/principal.ts'
import { ApiError } from '../../kit/api-error.ts'
import { refusal } from '../../kit/refusal.ts'
import { rawHeaderValues } from '../request/raw-header.ts'
import { isApiPath, pathOf } from '../request/request-path.ts'
import { probePaths } from '../routing/probes.ts'
import { pathsWithin } from '../routing/route-match.ts'
import { readCredential } from './bearer.ts'
import { admit, admitToGateway } from './guard.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'

/** The operations at a path that this process serves, whatever their method. */
export type ServedOperations = (path: string) => readonly OperationId[]

/** Who judges credentials. */
export interface Authorities {
  readonly api: Authority
  /** Absent where the gateway is not served. */
  readonly gateway: GatewayAuthority | undefined
}

/**
 * What is judged before a route is: the bearer, for every path of the API even an unknown one, then whether the path
 * and its method exist (completions, Order of checks). It runs for requests that match no route, too.
 */
export function registerEntryChecks(app: FastifyInstance, served: ServedOperations, authorities: Authorities): void {
  app.decorateRequest('admission', null)
  app.decorateRequest('gatewayAdmission', null)
  app.decorateRequest('bodyAhead', null)
  app.addHook('onRequest', async (request, reply) => {
    const hosts = rawHeaderValues(request.raw.rawHeaders, 'host').length
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) throw refusal('malformed_request')
    const asked = { rawHeaders: request.raw.rawHeaders, clientAddress: request.ip }
    const row = rowOf(request, served)
    if (row?.access === 'gateway' && authorities.gateway !== undefined) {
      const judging = admitToGateway(asked, authorities.gateway, keyHeaders[row.dialect])
      request.bodyAhead = request.routeOptions.config.readAhead?.(request) ?? null
      request.gatewayAdmission = await judging
      reply.headers(rateLimitHeaders(request.gatewayAdmission.metering))
    } else if (row === null && isApiPath(decodedPath(request)) && opensGateway(asked.rawHeaders, authorities)) {
      reply.headers(rateLimitHeaders((await admitToGateway(asked, authorities.gateway, null)).metering))
    } else if (row === null ? isApiPath(decodedPath(request)) : row.access !== 'public') {
      request.admission = await admit(asked, authorities.api)
      reply.headers(rateLimitHeaders(request.admission.metering))
    }
    if (request.is404 || isAnotherPath(request)) throw notRouted(decodedPath(request), served)
  })
}

type WithGateway = Authorities & { readonly gateway: GatewayAuthority }

/** Whether a credential is of a kind that opens the gateway alone: also it is told that a path is unknown, and not that it is invalid. */
function opensGateway(rawHeaders: readonly string[], authorities: Authorities): authorities is WithGateway {
  return authorities.gateway !== undefined && /^svc_(?:ai_live|run)_/.test(readCredential(rawHeaders))
}

/**
 * The operation that a request is for, or for another method the first at its path; null where there is none. An unknown
 * path of the API meets the guard of the credential that it came with.
 */
function rowOf(request: FastifyRequest, served: ServedOperations): Operation | null {
  const { operationId } = request.routeOptions.config
  if (operationId !== undefined) return operationOf(operationId)
  const [first] = request.is404 ? served(decodedPath(request)) : []
  return first === undefined ? null : operationOf(first)
}

/** Whether the router took the path of another operation for one with an id in its place. */
function isAnotherPath(request: FastifyRequest): boolean {
  const { operationId } = request.routeOptions.config
  const within = operationId === undefined ? undefined : pathsWithin.get(operationId)
  return within?.has(decodedPath(request)) === true
}

/** In whose form a request is refused: the API's, or that of a dialect of the gateway. */
export function formOf(request: FastifyRequest, served: ServedOperations): 'api' | Dialect {
  const row = rowOf(request, served)
  return row?.access === 'gateway' ? row.dialect : 'api'
}

const decodedPath = (request: FastifyRequest): string => decodeURI(pathOf(request.url))

function notRouted(path: string, served: ServedOperations): ApiError {
  const allow: readonly string[] = probePaths.has(path)
    ? ['GET']
    : [...new Set(served(path).map(id => operationOf(id).method))]
  if (allow.length === 0) return refusal('unknown_endpoint')
  return new ApiError(405, 'method_not_allowed', { fields: { allow }, headers: { allow: allow.join(', ') } })
}
