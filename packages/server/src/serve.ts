import { mkdir } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { foreignRuntimeLimits, workspaceLimits } from './checkpoints/limits.ts'
import { apiHandlers } from './composition/api-handlers.ts'
import type { Context } from './context.ts'
import { Deliverer } from './delivery/deliverer.ts'
import type { DeliveryContext } from './delivery/delivery-context.ts'
import { repositorySources } from './delivery/repository-sources.ts'
import { clearScratch } from './delivery/scratch.ts'
import type { ExecutionContext } from './execution/claim/execution-context.ts'
import { GatewayAccess, type GatewayMeans } from './execution/claim/gateway-access.ts'
import { GatewayCheck } from './execution/host/gateway-check.ts'
import { MirrorKeeper } from './execution/host/mirror-keeper.ts'
import { RuntimeAnnouncer } from './execution/host/runtime-announcer.ts'
import { Sweeper } from './execution/host/sweeper.ts'
import { Worker } from './execution/worker.ts'
import type { Booking } from './gateway/accounting/booking.ts'
import { createGateway } from './gateway/create-gateway.ts'
import { setMembers } from './gateway/formats/wire-format.ts'
import { gatewayHandlers } from './gateway/routes.ts'
import { callTranslated } from './gateway/translate/call-translated.ts'
import { openGitHosts } from './git-hosts/open-git-hosts.ts'
import { Housekeeper } from './housekeeping/housekeeper.ts'
import { createApp } from './http/app.ts'
import { HandedOver } from './http/gateway/handed-over.ts'
import type { GatewaySurface } from './http/gateway/routes.ts'
import type { Needs } from './http/routing/probes.ts'
import { provideDevelopmentTenant, renewDevelopmentUrls } from './identity/development/development-file.ts'
import { type DevelopmentTenant, findDevelopmentInstallation } from './identity/development/development-tenant.ts'
import { DatabaseAuthority } from './identity/guard/authority.ts'
import { DatabaseGatewayAuthority } from './identity/guard/gateway-authority.ts'
import { mintRuntimeCredential } from './identity/runtime-credentials/runtime-credential.ts'
import { systemClock } from './kit/clock.ts'
import { hostName } from './kit/host-id.ts'
import { knownSecrets } from './kit/redactor.ts'
import type { Service } from './kit/service.ts'
import { StartError, toStartError } from './kit/start-error.ts'
import { serveMetrics } from './metrics/metrics-server.ts'
import { serviceMetrics } from './metrics/service-metrics.ts'
import { grantLocal } from './repositories/grant-local.ts'
import { Mirrors } from './repositories/mirrors.ts'
import { builtInRuntimes } from './runtimes/built-in.ts'
import { RuntimeCatalog } from './runtimes/catalog.ts'
import { configuredModels } from './runtimes/configured-models.ts'
import { runtimeEntries } from './runtimes/foreign/foreign-entries.ts'
import { installsIn } from './runtimes/install-runtime.ts'
import { createBubblewrapDriver } from './sandboxes/bubblewrap/create-driver.ts'
import { insidePaths } from './sandboxes/bubblewrap/options.ts'
import { openHelperGroup } from './sandboxes/confined/helper-group.ts'
import { InteractionSweeper } from './sessions/interactions/interaction-sweeper.ts'
import { refuseSecretsWithoutKey } from './sessions/log/session-redactor.ts'
import { mergeDesk } from './sessions/merges/merge-desk.ts'
import { publicationDesk } from './sessions/publications/publication-desk.ts'
import { reviewDesk } from './sessions/reviews/review-desk.ts'
import { AuthoritySweeper } from './sessions/runs/authority-sweeper.ts'
import { EventStreams } from './sessions/streams/event-streams.ts'
import { StreamBudget } from './sessions/streams/stream-budget.ts'
import { StreamLedger } from './sessions/streams/stream-ledger.ts'
import { secretsOf } from './settings/secret-values.ts'
import { listeningOn, type Settings } from './settings/settings.ts'
import type { IdentifiedBlobs } from './storage/blobs/blobs.ts'
import { FileBlobs } from './storage/blobs/file-blobs.ts'
import { requireOwnStore } from './storage/blobs/store-identity.ts'
import { startEmbeddedPostgres } from './storage/embedded/embedded-postgres.ts'
import { refuseOtherKey, requireDeploymentKey } from './storage/keys/deployment-key.ts'
import type { MasterKey } from './storage/master-key.ts'
import { DatabaseUnavailable } from './storage/postgres/database-errors.ts'
import { couldChangeEvents, prepareDatabase } from './storage/postgres/database-roles.ts'
import { requireMigrated } from './storage/postgres/migrate.ts'
import { type ConnectionTarget, clientConfig, openDatabase } from './storage/postgres/pool.ts'
import { requireOwnConnections } from './storage/postgres/pooler.ts'
import { PostgresWakeups } from './storage/postgres/wakeups.ts'

/** Of all helper programs of a process: some dozen programs at once, of a few threads each. */
const HELPER_PROCESSES = 512
/** Model answers that are under way go on for this long when the service stops. */
const GATEWAY_GRACE_MS = 10_000

/** A service that runs. */
export interface RunningService extends AsyncDisposable {
  readonly settings: Settings
  /** Where metrics are served; null where they are not. */
  readonly metricsPort: number | null
  /** The development tenant's secrets, where this start made it. */
  readonly tenant: DevelopmentTenant | null
  /** How the sandboxes of this machine are bounded, one line each. */
  readonly platform: readonly string[]
  close(): Promise<void>
}

/** What the process around the service tells it. */
export interface ServiceProcess {
  /** Lines of the log that could not be written. */
  droppedLogLines(): number
}

/**
 * Composes and starts the service. Everything it opens is closed again in reverse order, also when a later step fails.
 * @throws StartError for what an operator can mend, in one line
 */
export async function serve(
  settings: Settings,
  log: Logger,
  around: ServiceProcess = { droppedLogLines: () => 0 },
): Promise<RunningService> {
  await using stack = new AsyncDisposableStack()
  stack.use(knownSecrets.add(...secretsOf(settings)))
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 }).catch(error => {
    throw toStartError(error, `the data directory ${settings.dataDir} cannot be made`)
  })

  const { connection, owner } = await connect(settings, log, stack)
  const database = { connection, log, connections: settings.databaseConnections }
  const db = stack.use(openDatabase(database))
  try {
    if (settings.databaseUrl !== undefined) await requireOwnConnections(database)
    await prepareDatabase(db, owner === null ? null : { connection: owner, log })
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error
    throw new StartError(`the database cannot be used: ${error.message}`, { cause: error })
  }
  if (settings.production && owner === null && (await couldChangeEvents(db))) {
    log.warn('the database role owns the log of events and could change it: docs/operations.md parts the roles')
  }
  const helpers = stack.use(
    await openHelperGroup(settings.dataDir, { ...settings.helpers, processes: HELPER_PROCESSES }),
  )
  const wakeups = stack.use(new PostgresWakeups({ connection: clientConfig(database), log }))
  await wakeups.start()
  const blobs = await openBlobs(settings, log, stack)
  const store = await requireOwnStore(db, blobs, placeOf(settings.blobs))
  const keySource = { key: settings.masterKey, dataDir: settings.dataDir, log }
  const masterKey = needsKey(settings) ? await requireDeploymentKey(db, keySource) : await refuseOtherKey(db, keySource)
  if (masterKey === undefined) await refuseSecretsWithoutKey(db)
  else stack.use(knownSecrets.add(...masterKey.spellings))
  db.masterKey = masterKey

  // With port 0 the URLs are known only once the service listens.
  let listening = settings
  let served: RequestListener | null = null
  const ownGateway = settings.roles.has('gateway') && settings.gatewayUrl === settings.authUrl
  const context: Context = {
    db,
    blobs,
    wakeups,
    clock: systemClock,
    log,
    runtimes: runtimeCatalog(settings),
    gitHosts: openGitHosts(
      { db, clock: systemClock, dataDir: settings.dataDir, baseUrl: () => listening.baseUrl },
      settings.config.gitHosts,
      stack,
    ),
    models: configuredModels(settings.config),
    defaultModel: settings.config.models.default ?? null,
    workspaceWaitMs: settings.workspaceWaitSeconds * 1000,
    reviewWaitMs: settings.delivery.reviewWaitSeconds * 1000,
    get consoleUrl() {
      return listening.consoleUrl
    },
  }
  await stack.use(new InteractionSweeper(context)).start()
  await stack.use(new AuthoritySweeper(context)).start()
  const registry = serviceMetrics(db, around)
  const gateway =
    settings.roles.has('gateway') && masterKey !== undefined
      ? await gatewaySurface(context, settings, { registry, masterKey }, stack)
      : undefined
  const platform: string[] = [helpers.description]
  if (settings.roles.has('worker')) {
    const way: Omit<GatewayMeans, 'mint'> = {
      url: () => listening.gatewayUrl,
      sandboxRequests: settings.gateway.sandboxRequests,
      ...(ownGateway &&
        gateway !== undefined && {
          here: () => (served === null ? null : gateway.handedOver.to(served)),
          settled: runId => gateway.settled(runId),
        }),
    }
    platform.push(...(await startWorking(context, settings, way, stack)))
    await stack.use(new Housekeeper(context, blobs, { blobGraceMs: settings.blobGraceSeconds * 1000 })).start()
  }

  const metrics =
    settings.metricsPort === undefined ? null : stack.use(await serveMetrics(registry, settings.metricsPort, log))
  // Also a worker that serves nothing looks, and says what it sees in its log.
  const gatewayCheck =
    settings.roles.has('worker') && !ownGateway && settings.config.providers.length > 0
      ? stack.use(new GatewayCheck({ url: () => listening.gatewayUrl, log }))
      : undefined
  const needs: Record<string, () => Promise<void>> = {
    start: () => Promise.reject(new Error('the service is starting')),
    database: async () => void (await db.query('select 1')),
    migrations: () => requireMigrated(db),
    blobs: () => store.check(),
    ...(gatewayCheck !== undefined && { gateway: () => gatewayCheck.check() }),
  }
  const app = await listen(context, settings, gateway, needs, stack)
  if (app !== null) [listening, served] = [app.settings, app.listener]
  await gatewayCheck?.start()
  const development = settings.loopback && !settings.production
  const tenant = development ? await provideDevelopmentTenant(db, listening, systemClock.now()) : null
  if (development && app !== null && settings.roles.has('api')) await renewDevelopmentUrls(db, listening)
  const newcomer = development ? await findDevelopmentInstallation(db) : null
  if (newcomer !== null) await grantLocal(context, newcomer)
  // Whoever waited for this finds all that a start makes, `dev.json` among it.
  delete needs['start']
  const opened = stack.move()
  return {
    settings: listening,
    metricsPort: metrics?.port ?? null,
    tenant,
    platform,
    close: () => opened.disposeAsync(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Whether the process seals: reasoning in the gateway, and secrets of sandboxes in a worker that gives them any. */
function needsKey({ roles, config }: Settings): boolean {
  return roles.has('gateway') || (roles.has('worker') && config.runtimes.some(({ secrets }) => secrets.length > 0))
}

async function openBlobs(settings: Settings, log: Logger, stack: AsyncDisposableStack): Promise<IdentifiedBlobs> {
  const { blobs, dataDir } = settings
  if (blobs.kind === 'file') {
    return FileBlobs.open(blobs.directory).catch(error => {
      throw toStartError(error, `blobs cannot be kept in ${blobs.directory}`)
    })
  }
  // The SDK takes a tenth of a second to load: who keeps files does without.
  const { S3Blobs } = await import('./storage/blobs/s3-blobs.ts')
  return stack.use(await S3Blobs.open(blobs.location, { spoolDirectory: dataDir, log }))
}

/** A blob store as its operator would name it. */
function placeOf(blobs: Settings['blobs']): string {
  return blobs.kind === 'file' ? blobs.directory : `s3://${blobs.location.bucket}/${blobs.location.prefix}`
}

/** @returns how the service reaches its database, and how the owner of the schema does if that is another role */
async function connect(
  settings: Settings,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<{ readonly connection: ConnectionTarget; readonly owner: ConnectionTarget | null }> {
  const { databaseUrl, migrationUrl } = settings
  if (databaseUrl !== undefined) {
    const owner = migrationUrl === undefined ? null : { connectionString: migrationUrl }
    return { connection: { connectionString: databaseUrl }, owner }
  }
  const embedded = stack.use(await startEmbeddedPostgres({ dataDir: settings.dataDir, log }))
  return { connection: embedded.connection, owner: embedded.administration }
}

async function startWorking(
  context: Context,
  settings: Settings,
  gateway: Omit<GatewayMeans, 'mint'>,
  stack: AsyncDisposableStack,
): Promise<readonly string[]> {
  const { execution, lease } = settings
  const driver = stack.use(
    await createBubblewrapDriver({
      dataDir: settings.dataDir,
      nodePath: process.execPath,
      bundlesDir: bundlesDirectory(),
      bounds: settings.sandbox,
      log: context.log,
    }),
  )
  const working: ExecutionContext = {
    ...context,
    driver,
    mirrors: new Mirrors(join(settings.dataDir, 'mirrors'), settings.mirrorBytes),
    gateway: new GatewayAccess({
      ...gateway,
      mint(run, { costUsd }) {
        const bound = costUsd === undefined ? run : { ...run, budgetUsd: costUsd }
        return mintRuntimeCredential(context.db, bound, context.clock.now())
      },
    }),
    bounds: settings.sandbox,
    publicHosts: settings.egress,
    host: await hostName(settings.dataDir),
    supervisorCommand: [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`],
    budgets: execution.budgets,
    approvalRules: execution.approvalRules,
    checkpointLimits: { workspace: workspaceLimits, conversation: foreignRuntimeLimits },
    limits: {
      fenceMs: execution.fenceSeconds * 1000,
      concurrency: execution.concurrency,
      maxAttempts: execution.maxAttempts,
      maxHandovers: execution.maxHandovers,
      provisionMs: execution.provisionSeconds * 1000,
      agentStartMs: execution.agentStartSeconds * 1000,
      runMs: execution.runSeconds * 1000,
      runEvents: execution.eventBudget.events,
      runEventBytes: execution.eventBudget.bytes,
      cancelGraceMs: execution.cancelGraceSeconds * 1000,
      approvalMs: execution.approvalSeconds * 1000,
      parkMs: execution.parkSeconds * 1000,
      pingMs: execution.pingSeconds * 1000,
      pulseMs: execution.pingSeconds * 500,
      hostLostMs: execution.hostLostSeconds * 1000,
      leaseIdleMs: lease.idleSeconds * 1000,
      leaseMaxMs: lease.maxSeconds * 1000,
      pollMs: 500,
      sweepMs: Math.min(10_000, (lease.idleSeconds * 1000) / 2),
    },
  }
  const scratchDir = join(settings.dataDir, 'scratch')
  await clearScratch(scratchDir, context.clock.now())
  const delivering: DeliveryContext = {
    ...context,
    driver,
    host: working.host,
    scratchDir,
    sources: repositorySources(context, working.mirrors),
    delivery: {
      publicationMs: settings.delivery.publicationSeconds * 1000,
      mergeMs: settings.delivery.publicationSeconds * 1000,
      mergeWaitMs: settings.delivery.mergeWaitSeconds * 1000,
      mergeCheckMs: settings.delivery.mergeCheckSeconds * 1000,
    },
  }
  const desks = [reviewDesk(delivering), publicationDesk(delivering), mergeDesk(delivering)]
  const deliverer = new Deliverer(context, desks, { claimMs: execution.fenceSeconds * 1000, pollMs: 500 })
  const services: Service[] = [
    new RuntimeAnnouncer(working),
    new Worker(working),
    new Sweeper(working),
    new MirrorKeeper(working),
    deliverer,
  ]
  for (const service of services) {
    stack.use(service)
    await service.start()
  }
  return driver.describe()
}

async function gatewaySurface(
  context: Context,
  settings: Settings,
  { registry, masterKey }: { readonly registry: Registry; readonly masterKey: MasterKey },
  stack: AsyncDisposableStack,
): Promise<GatewaySurface & Pick<Booking, 'settled'>> {
  const { gateway, config, authRate } = settings
  const { aliases, fallbacks, details } = config.models
  const made = stack.use(
    createGateway(context, {
      models: { providers: config.providers, aliases, fallbacks, details },
      limits: {
        connectMs: gateway.connectSeconds * 1000,
        firstByteMs: gateway.firstByteSeconds * 1000,
        idleMs: gateway.idleSeconds * 1000,
        totalMs: gateway.totalSeconds * 1000,
        connections: gateway.connections,
        retries: gateway.retries,
        retryWaitMs: gateway.retryWaitSeconds * 1000,
      },
      masterKey,
      registry,
      callTranslated,
    }),
  )
  return {
    handlers: gatewayHandlers(made),
    handedOver: new HandedOver(),
    settableMembers: setMembers,
    settled: runId => made.booking.settled(runId),
    authority: new DatabaseGatewayAuthority(context.db, context.clock, { gateway: gateway.rate, edge: authRate }),
    bodyLimitBytes: gateway.bodyBytes,
    clientPatienceMs: gateway.clientPatienceSeconds * 1000,
    graceMs: GATEWAY_GRACE_MS,
  }
}

async function listen(
  context: Context,
  settings: Settings,
  gateway: GatewaySurface | undefined,
  needs: Needs,
  stack: AsyncDisposableStack,
): Promise<{ readonly settings: Settings; readonly listener: RequestListener } | null> {
  if (!settings.roles.has('api') && gateway === undefined) return null
  const ledger = stack.use(new StreamLedger(context.db, context.log, settings.streams.perAuthority))
  await ledger.start()
  const app = createApp({
    ...(gateway !== undefined && { gateway }),
    ...(settings.roles.has('api') && {
      handlers: apiHandlers(
        context,
        {
          kind: settings.compute,
          leaseIdleSeconds: settings.lease.idleSeconds,
          leaseMaxSeconds: settings.lease.maxSeconds,
        },
        {
          streams: new EventStreams(context),
          budget: new StreamBudget(ledger, settings.streams.perProcess),
          life: {
            minMs: settings.streams.minSeconds * 1000,
            maxMs: settings.streams.maxSeconds * 1000,
            authorityMs: settings.streams.authoritySeconds * 1000,
            random: Math.random,
          },
        },
        settings.config.transcription,
      ),
    }),
    authority: new DatabaseAuthority(context.db, context.clock, { authority: settings.rate, edge: settings.authRate }),
    logger: context.log,
    needs,
    bodies: { ...settings.bodies, patienceMs: settings.bodies.patienceSeconds * 1000 },
    baseUrl: settings.baseUrl,
    trustedProxies: settings.trustedProxies,
    ...(settings.release !== undefined && { release: settings.release }),
  })
  stack.defer(() => app.close())
  try {
    await app.listen({ host: settings.host, port: settings.port })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause
    throw new StartError(
      `cannot listen on ${settings.host}:${settings.port} (${code}); BERTH_PORT chooses another port`,
      {
        cause,
      },
    )
  }
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : settings.port
  return { settings: listeningOn(settings, port), listener: app.routing }
}

function runtimeCatalog({ config, dataDir }: Settings): RuntimeCatalog {
  const { providers, runtimes } = config
  const means = {
    speaks: (format: string) => providers.some(({ wire }) => wire.some(spoken => spoken === format)),
    installs: installsIn(dataDir),
    inside: insidePaths.runtime,
  }
  return new RuntimeCatalog([
    ...builtInRuntimes(insidePaths, { hasModels: providers.length > 0 }),
    ...runtimeEntries(runtimes, means),
  ])
}

/** Bundles of what runs inside sandboxes, made by `npm run build`. */
function bundlesDirectory(): string {
  return resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
}
