import { operationOf } from '@berth/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { refusal } from '../api-errors.ts'
import type { Authority } from '../identity/principal.ts'
import { admit } from './guard.ts'
import { probePaths } from './probes.ts'
import { rateLimitHeaders } from './rate-limit-headers.ts'
import { isApiPath, pathOf } from './request-path.ts'
import { operationsAt } from './route-match.ts'

/**
 * What is judged before a route is: the bearer, for every path of the API even an unknown one, then whether the path
 * and its method exist (completions, Order of checks). It runs for requests that match no route, too.
 */
export function registerEntryChecks(app: FastifyInstance, authority: Authority): void {
  app.decorateRequest('admission', null)
  app.addHook('onRequest', async (request, reply) => {
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) throw refusal('malformed_request')
    if (needsBearer(request)) {
      const admission = await admit({ rawHeaders: request.raw.rawHeaders, clientAddress: request.ip }, authority)
      request.admission = admission
      reply.headers(rateLimitHeaders(admission.metering))
    }
    if (request.is404) throw notRouted(decodeURI(pathOf(request.url)))
  })
}

function needsBearer(request: FastifyRequest): boolean {
  const { operationId } = request.routeOptions.config
  if (operationId !== undefined) return operationOf(operationId).access === 'bearer'
  const path = decodeURI(pathOf(request.url))
  return request.is404 && isApiPath(path) && !operationsAt(path).some(id => operationOf(id).access === 'public')
}

function notRouted(path: string): ApiError {
  const allow: readonly string[] = probePaths.has(path) ? ['GET'] : operationsAt(path).map(id => operationOf(id).method)
  if (allow.length === 0) return refusal('unknown_endpoint')
  return new ApiError(405, 'method_not_allowed', { fields: { allow }, headers: { allow: allow.join(', ') } })
}
