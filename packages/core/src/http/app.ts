import { randomUUID } from 'node:crypto'
import {
  guardedOperationIds,
  type OperationId,
  openApiDocument,
  operationOf,
  type StatementKeySet,
  signedOperationIds,
} from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { type FastifyBaseLogger, type FastifyInstance, fastify } from 'fastify'
import type { Logger } from 'pino'
import type { AddressMeter } from '../identity/guard/address-meter.ts'
import type { Authority } from '../identity/guard/principal.ts'
import { personPaths, registerAssertionRoutes, registerBrowserRoutes, registerPersonRoutes } from './account-routes.ts'
import { type BodyBounds, type BodyClaim, defaultBodyBounds } from './body/body-budget.ts'
import { RequestBodies } from './body/request-bodies.ts'
import { answerClientError } from './connection/client-error.ts'
import { OpenStreams } from './connection/open-streams.ts'
import { OwedResponses } from './connection/owed-responses.ts'
import { SilentConnections } from './connection/silent-connections.ts'
import { type GatewaySurface, registerGatewayRoutes } from './gateway/routes.ts'
import type { BrowserAdmission, BrowserDoor } from './guard/browser-door.ts'
import { formOf, registerEntryChecks, type ServedOperations } from './guard/entry-checks.ts'
import type { Admission, GatewayAdmission } from './guard/guard.ts'
import { observeRequests } from './observe-requests.ts'
import { registerGuardedRoutes } from './operation-route.ts'
import { registerPublicRoutes } from './public-routes.ts'
import { lazySerializer } from './reply/lazy-serializer.ts'
import { isLostBrowser, sendLostPage } from './reply/lost-page.ts'
import { sendError } from './reply/send-error.ts'
import { routableTarget } from './request/request-path.ts'
import { RequestLog } from './request-log.ts'
import type { AccountHandlers, AccountPersonHandlers, BrowserHandlers, Handlers } from './routing/handler.ts'
import { type OtherHosts, routeOtherHosts } from './routing/other-hosts.ts'
import { type Needs, registerProbes } from './routing/probes.ts'
import { operationsAt } from './routing/route-match.ts'
import { asksForWebSocket, routeUpgrades } from './routing/upgrade.ts'
import { registerSignedRoutes } from './signed-routes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation that this route serves; absent for the probes. */
    readonly operationId?: OperationId
    /** True for pages and the way to them, which need no credential. */
    readonly page?: true
  }
  interface FastifyRequest {
    /** The caller that the guard admitted; null on routes without a credential of an organization. */
    admission: Admission | null
    /** The browser that the guard admitted by its cookie; null for bearers. */
    browser: BrowserAdmission | null
    /** The caller that the gateway's guard admitted; null elsewhere. */
    gatewayAdmission: GatewayAdmission | null
    /** Who was let in at a route of the account service. */
    admitted: object
    /** The body's share of the process's budget; null without a body, or if no caller was admitted. */
    bodyClaim: BodyClaim | null
  }
}

/** The account service as the HTTP layer serves it. */
export interface AccountSurface {
  readonly handlers: AccountHandlers
  readonly meter: Pick<AddressMeter, 'take'>
  /** Adds the routes that are no operations: the OpenID provider and the pages. */
  readonly mount: (app: FastifyInstance) => void
}

/** The console as the HTTP layer serves it: the page, and what it calls with its cookie. */
export interface ConsoleSurface {
  readonly door: BrowserDoor
  readonly handlers: BrowserHandlers
  /** What the account service answers to people, for the page. */
  readonly account: AccountPersonHandlers
  /** Adds the routes that are no operations: the page, its assets, and the sign-in. */
  readonly mount: (app: FastifyInstance) => void
}

/** The parts of the HTTP layer. */
export interface AppOptions {
  /** Absent if this process does not serve the API. */
  readonly handlers?: Handlers
  /** The public keys of statements; absent: there are none. */
  readonly statementKeys?: () => Promise<StatementKeySet>
  /** Meters senders of hooks, whose signature is not known yet; absent: this process takes no hooks. */
  readonly hookMeter?: Pick<AddressMeter, 'take'>
  /** Absent if this process is not the account service. */
  readonly account?: AccountSurface
  /** Absent if this process does not serve the console. */
  readonly console?: ConsoleSurface
  /** Absent if this process has no hosts besides its own. */
  readonly otherHosts?: OtherHosts
  /** Absent if this process does not serve the gateway. */
  readonly gateway?: GatewaySurface
  readonly authority: Authority
  readonly logger: Logger
  readonly needs: Needs
  /** Dates answers, because clients count deadlines down from that; absent: this machine's. */
  readonly clock?: Clock
  /** The value of `info.x-svc-release`. */
  readonly release?: string
  /** The origins that the OpenAPI document names. They are known once the service listens. */
  readonly urls?: () => { readonly baseUrl: string; readonly authUrl: string }
  /** Addresses and ranges of trusted proxies. The service believes their additions to `X-Forwarded-For`. */
  readonly trustedProxies?: readonly string[]
  /** Limits of the request bodies held at once. */
  readonly bodies?: BodyBounds
}

/**
 * Creates the HTTP layer: every operation of the route table, the two probes, and no other route. It checks requests in
 * the contract's order and is the only place that turns errors into responses.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const open = new OpenStreams()
  const owed = new OwedResponses()
  const { gateway, bodies: bounds = defaultBodyBounds } = options
  const bodies = new RequestBodies({ bounds, gatewayBytes: gateway?.bodyLimitBytes })
  const served: ServedOperations = path => operationsAt(path).filter(id => serves(options, id, path))
  const logger: FastifyBaseLogger = options.logger
  const app = fastify({
    loggerInstance: logger,
    logController: new RequestLog({ requestIdLogLabel: 'requestId' }),
    genReqId: () => randomUUID(),
    // Never `true`: the service would then believe the client itself, which could claim another address for each
    // request.
    trustProxy: [...(options.trustedProxies ?? [])],
    requestTimeout: 300_000,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    rewriteUrl: routableTarget,
    routerOptions: { maxParamLength: 65_536, querystringParser: () => ({}) },
    http: { requireHostHeader: false, shouldUpgradeCallback: asksForWebSocket },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, owed.owesAnother(socket)),
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply, formOf(request, served))
    },
  })
  app.setSerializerCompiler(lazySerializer)
  bodies.register(app)
  app.setErrorHandler((error, request, reply) =>
    options.console !== undefined && isLostBrowser(error, request)
      ? sendLostPage(reply)
      : sendError(error, request, reply, formOf(request, served)),
  )
  app.setNotFoundHandler(() => {
    throw refusal('unknown_endpoint')
  })
  // Must precede all hooks: the next bytes on the connection may fail to parse before the first hook runs.
  app.server.prependListener('request', (request, response) => owed.begin(request, response))
  // Node answers an unknown `Expect` header with a bare 417. Here, too, the contract's checks come first.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  routeUpgrades(app)
  answerWhileClosing(app, open)
  observeRequests(app)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    if (options.clock !== undefined) reply.header('date', options.clock.now().toUTCString())
  })
  registerEntryChecks(app, served, {
    api: options.authority,
    gateway: options.gateway?.authority,
    browsers: options.console?.door,
  })
  registerProbes(app, options.needs)
  if (options.handlers !== undefined) {
    const { statementKeys = async () => ({ keys: [] }) } = options
    registerPublicRoutes(app, () => openApiDocument(documentOptions(options)), statementKeys)
    registerGuardedRoutes(app, { handlers: options.handlers, bodies, open })
    registerPersonRoutes(app, options.handlers, personPaths.both, open)
    if (options.hookMeter !== undefined) registerSignedRoutes(app, options.handlers, options.hookMeter, open)
  }
  if (options.console !== undefined) {
    registerBrowserRoutes(app, options.console.handlers, open)
    registerPersonRoutes(app, options.console.account, personPaths.mirror, open)
    options.console.mount(app)
  }
  if (options.account !== undefined) {
    const { handlers, meter, mount } = options.account
    registerPersonRoutes(app, handlers, personPaths.table, open)
    registerAssertionRoutes(app, handlers, meter, open)
    mount(app)
  }
  if (gateway !== undefined) registerGatewayRoutes(app, gateway, open)
  if (options.otherHosts !== undefined) routeOtherHosts(app, options.otherHosts)
  return app
}

/** Whether this process answers an operation at a path. */
function serves(options: AppOptions, id: OperationId, path: string): boolean {
  const { handlers, gateway, account } = options
  const row = operationOf(id)
  if (row.access === 'gateway') return gateway !== undefined
  if (row.access === 'browser' || path.startsWith('/cloud/account/')) return options.console !== undefined
  if ('origin' in row) return account !== undefined
  return handlers !== undefined && (row.access === 'public' || id in handlers)
}

function documentOptions({ handlers, release, urls }: AppOptions) {
  const origins = urls?.()
  return {
    without: [...guardedOperationIds, ...signedOperationIds].filter(id => handlers?.[id] === undefined),
    ...(release === undefined ? {} : { release }),
    ...(origins === undefined ? {} : { serverUrl: origins.baseUrl, accountUrl: origins.authUrl }),
  }
}

/** Prepares the server for stopping: it ends its streams, and sends clients on kept connections to another server. */
function answerWhileClosing(app: FastifyInstance, open: OpenStreams): void {
  const silent = new SilentConnections(app.server)
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    open.stopAll()
    silent.close()
    // Node closes idle connections only when it begins to close. If a request was answered before all of it arrived (a
    // body too large), its connection becomes idle later, and would live until its keep-alive time ends.
    const sweep = setInterval(() => app.server.closeIdleConnections(), 100)
    app.server.once('close', () => clearInterval(sweep))
  })
  app.addHook('onRequest', async () => {
    if (closing)
      throw new ApiError(503, 'service_unavailable', { headers: { 'retry-after': '2', connection: 'close' } })
  })
}
