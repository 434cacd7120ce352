import { randomUUID } from 'node:crypto'
import { type OperationId, openApiDocument, operationOf } from '@berth/contract'
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import type { Authority } from '../identity/guard/principal.ts'
import { ApiError } from '../kit/api-error.ts'
import { refusal } from '../kit/refusal.ts'
import { type BodyBounds, type BodyClaim, defaultBodyBounds } from './body/body-budget.ts'
import { BodyJudge } from './body/body-judge.ts'
import { RequestBodies } from './body/request-bodies.ts'
import { answerClientError } from './connection/client-error.ts'
import { OpenStreams } from './connection/open-streams.ts'
import { OwedResponses } from './connection/owed-responses.ts'
import { SilentConnections } from './connection/silent-connections.ts'
import type { GatewayBody } from './gateway/body.ts'
import { type GatewaySurface, registerGatewayRoutes } from './gateway/routes.ts'
import { formOf, registerEntryChecks, type ServedOperations } from './guard/entry-checks.ts'
import type { Admission, GatewayAdmission } from './guard/guard.ts'
import { registerGuardedRoutes } from './operation-route.ts'
import { registerPublicRoutes } from './public-routes.ts'
import { sendError } from './reply/send-error.ts'
import { routableTarget } from './request/request-path.ts'
import { RequestLog } from './request-log.ts'
import type { Handlers } from './routing/handler.ts'
import { type Needs, registerProbes } from './routing/probes.ts'
import { operationsAt } from './routing/route-match.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The row of the route table this route serves; none for the probes. */
    readonly operationId?: OperationId
    /** Begins with the body while the guard judges; null where that waits for the guard. */
    readonly readAhead?: (request: FastifyRequest) => FastifyRequest['bodyAhead']
  }
  interface FastifyRequest {
    /** Whom the guard let in; null where no bearer is asked for. */
    admission: Admission | null
    /** Whom the gateway's guard let in; null everywhere else. */
    gatewayAdmission: GatewayAdmission | null
    /** A body of the gateway's that was begun before the guard had judged. */
    bodyAhead: Promise<() => GatewayBody> | null
    /** What its body takes of the process's budget; null without a body, and where nobody was let in. */
    bodyClaim: BodyClaim | null
  }
}

/** What the HTTP layer is composed of. */
export interface AppOptions {
  /** Absent where this process does not serve the API. */
  readonly handlers?: Handlers
  /** Absent where this process does not serve the gateway. */
  readonly gateway?: GatewaySurface
  readonly authority: Authority
  readonly logger: Logger
  readonly needs: Needs
  /** `info.x-svc-release`. */
  readonly release?: string
  /** Origin that the contract names as its server. */
  readonly baseUrl?: string
  /** Addresses and ranges of proxies in front, which are believed in what they add to `X-Forwarded-For`. */
  readonly trustedProxies?: readonly string[]
  /** How much of request bodies is held at once. */
  readonly bodies?: BodyBounds
}

/**
 * The HTTP side of the service: every operation of the route table and the two probes, and no other route. It judges
 * requests in the contract's order, and alone turns errors into responses.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const open = new OpenStreams()
  const owed = new OwedResponses()
  const { gateway, bodies: bounds = defaultBodyBounds } = options
  const bodies = new RequestBodies({ bounds, gatewayBytes: gateway?.bodyLimitBytes })
  const served: ServedOperations = path => operationsAt(path).filter(id => serves(options, id))
  const logger: FastifyBaseLogger = options.logger
  const app = fastify({
    loggerInstance: logger,
    logController: new RequestLog({ requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    // Never `true`: that would believe the client itself, which could take another address for each request.
    trustProxy: [...(options.trustedProxies ?? [])],
    requestTimeout: 300_000,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    rewriteUrl: request => routableTarget(request.url ?? '/'),
    routerOptions: { maxParamLength: 65_536, querystringParser: () => ({}) },
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, owed.owesAnother(socket)),
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply, formOf(request, served))
    },
  })
  bodies.register(app)
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, formOf(request, served)))
  app.setNotFoundHandler(() => {
    throw refusal('unknown_endpoint')
  })
  // Before any hook: what follows on the connection may fail to parse before the first of them has run.
  app.server.prependListener('request', (request, response) => owed.begin(request, response))
  // Node answers an expectation it does not know with a bare 417; the contract's checks come first here as well.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  answerWhileClosing(app, open)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
  })
  registerEntryChecks(app, served, { api: options.authority, gateway: options.gateway?.authority })
  registerProbes(app, options.needs)
  if (options.handlers !== undefined) {
    registerPublicRoutes(app, openApiDocument(documentOptions(options)))
    registerGuardedRoutes(app, { handlers: options.handlers, authority: options.authority, bodies, open })
  }
  if (gateway !== undefined) {
    const judge = new BodyJudge()
    app.addHook('onClose', () => judge.close())
    registerGatewayRoutes(app, gateway, { bodies, judge, open })
  }
  return app
}

/** Whether this process answers an operation. */
const serves = ({ handlers, gateway }: AppOptions, id: OperationId): boolean =>
  (operationOf(id).access === 'gateway' ? gateway : handlers) !== undefined

const documentOptions = ({ release, baseUrl }: AppOptions) => ({
  ...(release === undefined ? {} : { release }),
  ...(baseUrl === undefined ? {} : { serverUrl: baseUrl }),
})

/** A stopping server ends its streams, and sends those who still come on kept connections to the next one. */
function answerWhileClosing(app: FastifyInstance, open: OpenStreams): void {
  const silent = new SilentConnections(app.server)
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    open.stopAll()
    silent.close()
    // Node closes what is idle as it begins to close. A connection whose request was answered before all of it had come
    // (a body too large) is idle only later, and would be kept until its keep-alive time is over.
    const sweep = setInterval(() => app.server.closeIdleConnections(), 100)
    app.server.once('close', () => clearInterval(sweep))
  })
  app.addHook('onRequest', async () => {
    if (closing)
      throw new ApiError(503, 'service_unavailable', { headers: { 'retry-after': '2', connection: 'close' } })
  })
}
