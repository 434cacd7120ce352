import {
  type Dialect,
  dialectOfSender,
  gatewayDialect,
  keyHeaders,
  mirroredPath,
  type Operation,
  type OperationId,
  operationOf,
} from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayAuthority } from '../../identity/guard/gateway-caller.ts'
import { opensGatewayAlone } from '../../identity/guard/presented.ts'
import type { Authority } from '../../identity/guard/principal.ts'
import { rawHeaderValues } from '../request/raw-header.ts'
import { isApiPath, isGooglePath, pathOf } from '../request/request-path.ts'
import { probePaths } from '../routing/probes.ts'
import { isWithin } from '../routing/route-match.ts'
import { readCredential } from './bearer.ts'
import { admitBrowser, type BrowserDoor, isBrowsers } from './browser-door.ts'
import { admit, admitToGateway } from './guard.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'

/** Returns the operations at a path that this process serves, whatever their method. */
export type ServedOperations = (path: string) => readonly OperationId[]

/** The guards that check credentials. */
export interface Authorities {
  readonly api: Authority
  /** Absent if this process does not serve the gateway. */
  readonly gateway: GatewayAuthority | undefined
  /** Absent if this process does not serve the console. */
  readonly browsers: BrowserDoor | undefined
}

/**
 * Registers the checks that precede every route: first the bearer, even on unknown API paths, then whether the path and
 * its method exist. They also run for requests that match no route.
 */
export function registerEntryChecks(app: FastifyInstance, served: ServedOperations, authorities: Authorities): void {
  app.decorateRequest('admission', null)
  app.decorateRequest('gatewayAdmission', null)
  app.decorateRequest('browser', null)
  app.addHook('onRequest', async (request, reply) => {
    const hosts = rawHeaderValues(request.raw.rawHeaders, 'host').length
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) throw refusal('malformed_request')
    const origin = { rawHeaders: request.raw.rawHeaders, clientAddress: request.ip }
    const row = rowOf(request, served)
    const dialect = dialectOf(request, row)
    const keyHeader = dialect === null ? null : keyHeaders[dialect]
    // Anthropic's clients read the id of a request there.
    if (dialect === 'anthropic') reply.header('request-id', request.id)
    const { browsers } = authorities
    if (browsers !== undefined && !isPage(request) && isBrowsers(decodedPath(request), origin.rawHeaders)) {
      request.browser = await admitBrowser(origin, decodedPath(request), browsers)
      request.admission = request.browser.member
      reply.headers(rateLimitHeaders(request.browser.metering))
    } else if (row?.access === 'gateway' && authorities.gateway !== undefined) {
      request.gatewayAdmission = await admitToGateway(origin, authorities.gateway, keyHeader)
      reply.headers(rateLimitHeaders(request.gatewayAdmission.metering))
    } else if (
      row === null &&
      isApiPath(decodedPath(request)) &&
      !isPage(request) &&
      opensGateway(origin.rawHeaders, keyHeader, authorities)
    ) {
      reply.headers(rateLimitHeaders((await admitToGateway(origin, authorities.gateway, keyHeader)).metering))
    } else if (isPage(request)) {
      return
    } else if (row === null ? isApiPath(decodedPath(request)) : !bearerless.has(row.access)) {
      request.admission = await admit(origin, authorities.api)
      reply.headers(rateLimitHeaders(request.admission.metering))
    }
    if (request.is404 || isAnotherPath(request)) throw notRouted(decodedPath(request), served)
  })
}

/** Operations whose callers have no bearer. */
const bearerless: ReadonlySet<Operation['access']> = new Set(['public', 'assertion', 'signed'])

/** Returns whether a request is for a page or the way to one, which needs no credential. */
const isPage = ({ routeOptions: { config } }: FastifyRequest): boolean => config.page === true

type WithGateway = Authorities & { readonly gateway: GatewayAuthority }

/**
 * Returns whether the gateway judges a credential on an unknown path: one that opens nothing else, or one in the header
 * of a dialect. If it is valid, the answer is 404, not 401.
 */
function opensGateway(
  rawHeaders: readonly string[],
  keyHeader: string | null,
  authorities: Authorities,
): authorities is WithGateway {
  if (authorities.gateway === undefined) return false
  const credential = readCredential(rawHeaders, keyHeader)
  return opensGatewayAlone(credential) || (keyHeader !== null && rawHeaderValues(rawHeaders, keyHeader).length > 0)
}

/**
 * Returns the operation that a request matches, or, for another method, the first one at its path. Null if there is
 * none; an unknown API path then meets the guard that fits its credential.
 */
function rowOf(request: FastifyRequest, served: ServedOperations): Operation | null {
  const { operationId } = request.routeOptions.config
  if (operationId !== undefined) return operationOf(operationId)
  const [first] = request.is404 ? served(decodedPath(request)) : []
  return first === undefined ? null : operationOf(first)
}

/** Returns whether the router took the path of a more specific operation for an id. */
function isAnotherPath(request: FastifyRequest): boolean {
  const { operationId } = request.routeOptions.config
  if (operationId === undefined) return false
  const path = decodedPath(request)
  return isWithin(operationId, mirroredPath(path) ?? path)
}

/**
 * Returns the dialect of the client, null if its path is not the gateway's. On an unknown path the client's own headers
 * tell it, so that a client of the gateway can read the refusal.
 */
function dialectOf(request: FastifyRequest, row: Operation | null): Dialect | null {
  if (row?.access === 'gateway') return gatewayDialect(row, request.headers)
  const path = decodedPath(request)
  if (row !== null || !isApiPath(path)) return null
  return isGooglePath(path) ? 'google' : dialectOfSender(request.headers)
}

/** Returns the error format of a request: the API's, or that of a gateway dialect. */
export function formOf(request: FastifyRequest, served: ServedOperations): 'api' | Dialect {
  return dialectOf(request, rowOf(request, served)) ?? 'api'
}

const decodedPath = (request: FastifyRequest): string => decodeURI(pathOf(request.url))

function notRouted(path: string, served: ServedOperations): ApiError {
  const allow: readonly string[] = probePaths.has(path)
    ? ['GET']
    : [...new Set(served(path).map(id => operationOf(id).method))]
  if (allow.length === 0) return refusal('unknown_endpoint')
  return new ApiError(405, 'method_not_allowed', { fields: { allow }, headers: { allow: allow.join(', ') } })
}
