import {
  type AssertionOperationId,
  assertionOperationIds,
  assertionOperationOf,
  type BrowserOperationId,
  browserOperationIds,
  browserOperationOf,
  mirrorOf,
  type OperationId,
  operationOf,
  type PersonOperation,
  type PersonOperationId,
  personOperationIds,
  personOperationOf,
} from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AddressMeter } from '../identity/guard/address-meter.ts'
import type { PersonPrincipal, Principal } from '../identity/guard/principal.ts'
import type { BodyReading } from './body/body-reader.ts'
import { parseJson } from './body/json-body.ts'
import type { OpenStreams } from './connection/open-streams.ts'
import { invalidCredential } from './guard/bearer.ts'
import { refuseEmptyBucket } from './guard/guard.ts'
import { rateLimitHeaders } from './guard/rate-limit-headers.ts'
import { answerSchemas } from './reply/lazy-serializer.ts'
import { sendReply } from './reply/send-reply.ts'
import { requireMediaType } from './request/media-type.ts'
import { RequestContract } from './request/request-contract.ts'
import { queryOf } from './request/request-path.ts'
import type { AnyHandler } from './routing/handler.ts'
import { routerPath } from './routing/route-match.ts'

/** Registers routes for each of people's operations that this process serves. */
export function registerPersonRoutes(
  app: FastifyInstance,
  handlers: Partial<Readonly<Record<PersonOperationId, unknown>>>,
  pathsOf: (row: PersonOperation) => readonly string[],
  open: OpenStreams,
): void {
  for (const id of personOperationIds) {
    const handler = handlers[id]
    if (handler === undefined) continue
    const row = personOperationOf(id)
    for (const path of pathsOf(row)) {
      register(app, id, path, handler as AnyHandler, open, request => {
        const { principal } = admitted(request)
        requirePermission(row, principal)
        if (row.recent === true && request.browser?.session.isRecent === false) throw refusal('recent_sign_in_required')
        return { principal, browser: request.browser?.session ?? null }
      })
    }
  }
}

/** The paths at which people's operations are served. */
export const personPaths = {
  table: (row: PersonOperation): readonly string[] => [row.path],
  mirror: (row: PersonOperation): readonly string[] => [mirrorOf(row) ?? row.path],
  /** Operations of the page itself have no other path. */
  both: (row: PersonOperation): readonly string[] => [
    ...new Set([...personPaths.table(row), ...personPaths.mirror(row)]),
  ],
} as const

/** Registers a route for each operation of a browser that is signed in. */
export function registerBrowserRoutes(
  app: FastifyInstance,
  handlers: Readonly<Record<BrowserOperationId, unknown>>,
  open: OpenStreams,
): void {
  for (const id of browserOperationIds) {
    register(app, id, browserOperationOf(id).path, handlers[id] as AnyHandler, open, request => {
      // A bearer is somebody, but no browser.
      if (request.browser === null) throw invalidCredential()
      return { browser: request.browser.session }
    })
  }
}

/** Registers a route for each operation of apps' backends; the meter limits them by client address. */
export function registerAssertionRoutes(
  app: FastifyInstance,
  handlers: Readonly<Record<AssertionOperationId, unknown>>,
  meter: Pick<AddressMeter, 'take'>,
  open: OpenStreams,
): void {
  for (const id of assertionOperationIds) {
    register(app, id, assertionOperationOf(id).path, handlers[id] as AnyHandler, open, async (request, reply) => {
      const verdict = await meter.take(request.ip)
      reply.headers(rateLimitHeaders(verdict.metering))
      if (verdict.kind === 'limited') throw refuseEmptyBucket(verdict.metering, verdict.retryAfterSeconds)
      return {}
    })
  }
}

function register(
  app: FastifyInstance,
  id: OperationId,
  path: string,
  handle: AnyHandler,
  open: OpenStreams,
  admit: (
    request: FastifyRequest,
    reply: { headers(headers: Readonly<Record<string, string>>): unknown },
  ) => object | Promise<object>,
): void {
  const row = operationOf(id)
  const contract = new RequestContract(row)
  const takesBody = row.body !== undefined
  app.route<{ Body: BodyReading | undefined }>({
    method: row.method,
    url: routerPath(path),
    config: { operationId: id },
    schema: answerSchemas(row),
    onRequest: async (request, reply) => {
      request.params = contract.params(request.params)
      request.admitted = await admit(request, reply)
      if (row.method !== 'GET') requireMediaType(request.headers, takesBody ? 'json' : 'nothing')
    },
    handler: async (request, reply) => {
      const { body: reading } = request
      const bodyBytes = reading?.kind === 'read' ? reading.bytes.length : 0
      const body = row.method === 'GET' ? undefined : parseJson(reading, takesBody)
      const parts = contract.parts({ query: queryOf(request.url), headers: request.headers, body, bodyBytes })
      const answer = await handle({
        ...parts,
        ...request.admitted,
        params: request.params,
        clientAddress: request.ip,
      })
      return await sendReply(reply, answer, open)
    },
  })
}

/**
 * Returns the person behind a request. People's operations reject the credential of an installation.
 * @throws ApiError 401
 */
function admitted(request: FastifyRequest): { readonly principal: PersonPrincipal } {
  const principal: Principal | undefined = request.admission?.principal
  if (principal === undefined) throw new Error('a route for people was reached without the guard')
  if (principal.kind !== 'person') throw invalidCredential()
  return { principal }
}

/**
 * Checks that the person has the role or permission that the operation needs.
 * @throws ApiError 403 `insufficient_scope`
 */
function requirePermission({ needs }: PersonOperation, { role, permissions }: PersonPrincipal): void {
  if (needs === 'membership') return
  if (needs === 'administrator' ? role === 'admin' : permissions.has(needs)) return
  throw refusal('insufficient_scope', { requiredScope: needs === 'administrator' ? 'organization.administer' : needs })
}
