import {
  type GuardedOperation,
  type GuardedOperationId,
  guardedOperationIds,
  guardedOperationOf,
  mirrorOf,
} from '@berth/contract'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BodyReading } from './body/body-reader.ts'
import { parseJson } from './body/json-body.ts'
import type { RequestBodies } from './body/request-bodies.ts'
import type { OpenStreams } from './connection/open-streams.ts'
import { isAllowed, requireCapability } from './guard/capability-check.ts'
import type { Admission } from './guard/guard.ts'
import { answerSchemas } from './reply/lazy-serializer.ts'
import { sendReply } from './reply/send-reply.ts'
import { requireMediaType } from './request/media-type.ts'
import { RequestContract } from './request/request-contract.ts'
import { queryOf } from './request/request-path.ts'
import type { AnyHandler, Handlers } from './routing/handler.ts'
import { routerPath } from './routing/route-match.ts'

/** The dependencies of guarded routes. */
export interface GuardedRoutes {
  readonly handlers: Handlers
  readonly bodies: RequestBodies
  readonly open: OpenStreams
}

/**
 * Registers the routes of each operation that needs a bearer, with the checks from the path parameters to the handler.
 */
export function registerGuardedRoutes(app: FastifyInstance, routes: GuardedRoutes): void {
  for (const id of guardedOperationIds) {
    if (routes.handlers[id] === undefined) continue
    const row = guardedOperationOf(id)
    registerRow(app, id, row, row.path, routes)
    const mirror = mirrorOf(row)
    if (mirror !== null) registerRow(app, id, { ...row, principal: 'person' }, mirror, routes)
  }
}

/** Returns what the body of an operation must be. */
function mediaOf({ form, octets, octetsType, body }: GuardedOperation): Parameters<typeof requireMediaType>[1] {
  if (form !== undefined) return 'form'
  if (octets !== undefined) return octetsType ?? 'application/octet-stream'
  return body === undefined ? 'nothing' : 'json'
}

function registerRow(
  app: FastifyInstance,
  id: GuardedOperationId,
  row: GuardedOperation,
  path: string,
  routes: GuardedRoutes,
): void {
  const contract = new RequestContract(row)
  const takesBody = row.body !== undefined
  const takesStream = row.form !== undefined || row.octets !== undefined
  const takes = mediaOf(row)
  const handle: AnyHandler = routes.handlers[id] as AnyHandler
  app.route<{ Body: BodyReading | undefined }>({
    method: row.method,
    url: routerPath(path),
    config: { operationId: id },
    schema: answerSchemas(row),
    onRequest: async request => {
      request.params = contract.params(request.params)
      requireCapability(row, admissionOf(request).principal)
      if (row.recent === true && request.browser?.session.isRecent === false) throw refusal('recent_sign_in_required')
      if (row.method !== 'GET') requireMediaType(request.headers, takes)
    },
    handler: async (request, reply) => {
      const body = row.method === 'GET' || takesStream ? undefined : parseJson(request.body, takesBody)
      const { body: reading } = request
      const bodyBytes = reading?.kind === 'read' ? reading.bytes.length : 0
      const parts = contract.parts({ query: queryOf(request.url), headers: request.headers, body, bodyBytes })
      const { principal, judgeAgain } = admissionOf(request)
      const answer = await handle({
        ...parts,
        ...(takesStream && { body: routes.bodies.streamOf(request) }),
        params: request.params,
        headers: request.headers,
        principal,
        browser: request.browser?.session ?? null,
        clientAddress: request.ip,
        get signal() {
          return signalOf(reply)
        },
        stillAuthorized: async () => {
          const again = await judgeAgain()
          return again !== null && again.id === principal.id && isAllowed(row, again)
        },
      })
      return await sendReply(reply, answer, routes.open)
    },
  })
}

function admissionOf(request: Pick<FastifyRequest, 'admission'>): Admission {
  if (request.admission === null) throw new Error('the request reached a guarded route without passing the guard')
  return request.admission
}

/**
 * Returns a signal that aborts when the response closes, for whatever reason. It is created on first use: an aborting
 * signal costs an exception, and most requests need none.
 */
function signalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const leave = () => controller.abort(new ClientLeft('the client left'))
  if (reply.raw.destroyed) leave()
  reply.raw.once('close', leave)
  return controller.signal
}
