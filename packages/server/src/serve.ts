import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { accountChores } from '@berth/core/accounts/account-chores.ts'
import type { Context } from '@berth/core/context.ts'
import { environmentChores } from '@berth/core/environments/environment-chores.ts'
import { openCommitApp } from '@berth/core/git/signing/open-signer.ts'
import { openGitHosts } from '@berth/core/git-hosts/open-git-hosts.ts'
import type { RestBounds } from '@berth/core/hosts/host-rest-sql.ts'
import { RelayTokens } from '@berth/core/hosts/relay/relay-tokens.ts'
import { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'
import { Housekeeper } from '@berth/core/housekeeping/housekeeper.ts'
import { usageChores } from '@berth/core/housekeeping/usage-chore.ts'
import { clientAddressBehind } from '@berth/core/http/request/client-address.ts'
import type { DevelopmentTenant } from '@berth/core/identity/development/development-tenant.ts'
import { openTokenVerifier } from '@berth/core/identity/tokens/token-verifier.ts'
import { releaseChores } from '@berth/core/releases/release-chores.ts'
import { configuredModels } from '@berth/core/runtimes/configured-models.ts'
import { egressChores } from '@berth/core/sessions/egress/secret-uses.ts'
import { budgetChores } from '@berth/core/sessions/interactions/budget-chores.ts'
import { InteractionSweeper } from '@berth/core/sessions/interactions/interaction-sweeper.ts'
import { purgeChores } from '@berth/core/sessions/purge/purge-chore.ts'
import { AuthoritySweeper } from '@berth/core/sessions/runs/authority-sweeper.ts'
import { statementChores } from '@berth/core/sessions/statements/statement-keys.ts'
import { trialChores } from '@berth/core/sessions/trials/trial-chores.ts'
import { verificationChores } from '@berth/core/sessions/verification-chores.ts'
import { webhookChores } from '@berth/core/webhooks/webhook-chores.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { hostName } from '@berth/platform/kit/host-id.ts'
import { openDataDirectory } from '@berth/platform/kit/open-data-directory.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { releaseVersion } from '@berth/platform/kit/version.ts'
import { serveMetrics } from '@berth/platform/metrics/metrics-server.ts'
import { countLoad, serviceMetrics } from '@berth/platform/metrics/service-metrics.ts'
import { observeInMetrics } from '@berth/platform/metrics/work-metrics.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import { inRanges } from '@berth/platform/network/public-address.ts'
import { ProcessHeartbeat } from '@berth/platform/processes/process-heartbeat.ts'
import { secretsOf } from '@berth/platform/settings/secret-values.ts'
import { listeningOn, type Settings } from '@berth/platform/settings/settings.ts'
import { addressOf, originOf } from '@berth/platform/settings/web-url.ts'
import { ClockKeeper } from '@berth/platform/storage/postgres/database-clock.ts'
import { requireMigrated } from '@berth/platform/storage/postgres/migrate.ts'
import { clientConfig } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { openTraces } from '@berth/platform/telemetry/open-traces.ts'
import { openHelperGroup } from '@berth/sandboxes/confined/helper-group.ts'
import { noteServing } from '@berth/sandboxes/leases/serving.ts'
import { openSupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import type { CallBounds } from '@berth/sandboxes/remote/create-driver.ts'
import { claimChores } from '@berth/worker/claim/claim-chores.ts'
import { GatewayCheck } from '@berth/worker/host/gateway-check.ts'
import type { Logger } from 'pino'
import { openAccount } from './composition/account.ts'
import { openApi } from './composition/api.ts'
import { openConsole } from './composition/console.ts'
import { provideDevelopment } from './composition/development.ts'
import { openGateway } from './composition/gateway.ts'
import { openGuards } from './composition/identity.ts'
import { openCluster } from './composition/kubernetes.ts'
import { listen } from './composition/listener.ts'
import { findTriggers } from './composition/optional-packages.ts'
import { previewDomain, requireOwnPreviewSite } from './composition/previews.ts'
import { openRelay } from './composition/relay.ts'
import { runtimeCatalog } from './composition/runtime-catalog.ts'
import { openBlobStore, openDeploymentDatabase, openMasterKey } from './composition/storage.ts'
import { makePushSender, makeSender, webhookParts } from './composition/webhooks.ts'
import { openWorker } from './composition/worker.ts'
import { ArtifactPages } from './console/artifact-views/artifact-pages.ts'
import { consoleChores } from './console/console-chores.ts'
import { NextTurnAdmitter } from './console/next-turns/next-turn-admitter.ts'
import { PreviewSite } from './console/ports/preview-site.ts'

/** For all helper programs of a process: some dozen run at once, with a few threads each. */
const HELPER_PROCESSES = 512

/** A running service. */
export interface RunningService extends AsyncDisposable {
  readonly settings: Settings
  /** The port that serves metrics; null if none does. */
  readonly metricsPort: number | null
  /** The port that hosts dial; null if none may. */
  readonly hostsPort: number | null
  /** The development tenant's secrets, if this start made it. */
  readonly tenant: DevelopmentTenant | null
  /** The limits of this machine's sandboxes, one line each. */
  readonly platform: readonly string[]
  close(): Promise<void>
}

/** The parts of the surrounding process that the service uses. */
export interface ServiceProcess {
  /** Number of log lines that could not be written. */
  droppedLogLines(): number
  /** Network of webhooks; absent: this machine's. */
  readonly network?: Network
  /** Directory of the console's page; absent: where the build puts it. */
  readonly consoleDirectory?: string
  /** Bounds of calls to hosts that dial this process; absent: those of a service. */
  readonly hostCalls?: Partial<CallBounds>
  /** How long those hosts rest after failures; absent: as those of a service. */
  readonly hostRests?: RestBounds
}

/**
 * Starts the service: the parts that all roles share, then the roles of this process, then its listener. `server/composition/`
 * assembles each part; only this function decides the order of the start. The parts stop in reverse, so the listener
 * stops before the worker, and the database last. A start that fails stops everything that it started.
 *
 * The listener answers `/readyz` with 200 only after the start is complete, and while every need answers.
 * @throws StartError with one line about a problem that the operator can solve
 */
export async function serve(
  settings: Settings,
  log: Logger,
  around: ServiceProcess = { droppedLogLines: () => 0 },
): Promise<RunningService> {
  await using stack = new AsyncDisposableStack()
  const start = (service: Service): Promise<void> => stack.use(service).start()
  stack.use(knownSecrets.add(...secretsOf(settings)))
  const commits = await openCommitApp(settings.config.commits)
  await openDataDirectory(settings.dataDir)
  const note = stack.use(await noteServing(settings.dataDir))
  // First, so that it still sends the spans of the parts that stop before it.
  if (settings.traces !== undefined) {
    const instance = `${await hostName(settings.dataDir)}/${process.pid}`
    const identity = {
      release: settings.http.release ?? releaseVersion,
      instance,
      roles: [...settings.roles].join(','),
    }
    stack.use(await openTraces(settings.traces, identity, log))
  }

  // Parts that all roles share.
  const { db, direct } = await openDeploymentDatabase(settings, log, stack)
  const keeper = new ClockKeeper({ db, log }, settings.worker.limits.fenceMs / 4)
  await keeper.begin()
  await start(new PeriodicTasks([keeper]))
  const { clock } = keeper
  const helpers = stack.use(
    await openHelperGroup(settings.dataDir, { ...settings.sandboxes.helpers, processes: HELPER_PROCESSES }),
  )
  const wakeups = stack.use(new PostgresWakeups({ connection: clientConfig(direct), log }))
  await wakeups.start()
  const { blobs, store } = await openBlobStore(settings, db, log, stack)
  const masterKey = await openMasterKey(settings, db, log)
  stack.use(knownSecrets.add(...masterKey.spellings))
  db.masterKey = masterKey

  // With port 0, the URLs are known only once the service listens.
  let listening = settings
  let served: RequestListener | null = null
  const context: Context = {
    db,
    blobs,
    wakeups,
    clock,
    log,
    runtimes: runtimeCatalog(settings),
    gitHosts: openGitHosts(
      {
        db,
        clock,
        dataDir: settings.dataDir,
        consoleUrl: () => listening.urls.consoleUrl,
        committer: commits.identity,
        isRefused: inRanges(settings.config.egress.refuse),
      },
      settings.config.gitHosts,
      stack,
    ),
    commits,
    models: configuredModels(settings.config),
    defaultModel: settings.config.models.default ?? null,
    workspaceWaitMs: settings.leases.workspaceWaitMs,
    reviewWaitMs: settings.delivery.reviewWaitMs,
    get consoleUrl() {
      return listening.urls.consoleUrl
    },
    get baseUrl() {
      return listening.urls.baseUrl
    },
  }
  const tokens = openTokenVerifier(db, clock, () => listening.urls.authUrl)
  const guards = await openGuards(context, settings, tokens, stack)
  await start(
    new PeriodicTasks([new InteractionSweeper(context), new AuthoritySweeper(context), new NextTurnAdmitter(context)]),
  )
  const registry = serviceMetrics(db, around, clock)
  stack.use(observeInMetrics(registry))

  // The roles of this process.
  const { roles } = settings
  const triggers = await findTriggers()
  const host = await hostName(settings.dataDir)
  const holder = `${host}/${process.pid}/${randomUUID().slice(0, 8)}`
  const gateway = roles.has('gateway')
    ? openGateway(context, settings, { registry, masterKey, judge: guards.gateway, holder }, stack)
    : undefined
  const stopping = new AbortController()
  const ownGateway = roles.has('gateway') && settings.urls.gatewayUrl === settings.urls.authUrl
  const platform: string[] = [helpers.description]
  let hostsPort: number | null = null
  const relayTokens = new RelayTokens(masterKey, clock)
  const own = { host, door: await openSupervisorDoor(settings.dataDir) }
  let doors: SandboxDoors
  if (roles.has('worker')) {
    const relay = await openRelay(settings, log, relayTokens, stack)
    // A gateway of this process is asked at the listener's own address: the way by a public name may not lead back here.
    const url = () => {
      const { host: ownHost, port } = listening.listener
      return ownGateway ? originOf(ownHost, port) : listening.urls.gatewayUrl
    }
    const { sandboxRequests } = settings.gateway
    const cluster = await openCluster(context, settings, registry, stack)
    const { hostCalls, hostRests } = around
    const sandboxGateway = { url, sandboxRequests, ...(ownGateway && { stopping: stopping.signal }) }
    const parts = { gateway: sandboxGateway, identity: cluster?.identity, relayUrl: relay?.url, holder }
    const worker = await openWorker(context, settings, { ...parts, hostCalls, hostRests }, stack)
    countLoad(registry, worker)
    doors = new SandboxDoors(own, worker.hosts, relayTokens)
    relay?.serve(doors)
    for (const service of worker.services) await start(service)
    if (cluster !== null) await start(cluster.provisioner)
    platform.push(...worker.platform)
    hostsPort = worker.hostsPort()
  } else {
    // A worker writes the row of its process itself.
    doors = new SandboxDoors(own, null, relayTokens)
    const release = settings.http.release ?? null
    const patienceMs = settings.worker.limits.fenceMs
    await start(new ProcessHeartbeat(context, { id: holder, host, roles: [...roles], release, patienceMs }))
  }
  // An account service with a database of its own has no worker.
  if (roles.has('worker') || roles.has('account')) {
    const chores = [
      ...accountChores(context, settings.accounts),
      ...budgetChores(context),
      ...egressChores(context),
      ...claimChores(context),
      ...consoleChores(context, settings.console),
      ...environmentChores(context),
      ...releaseChores(context),
      ...(roles.has('worker') ? statementChores(context) : []),
      ...trialChores(context),
      ...verificationChores(context),
      ...(triggers?.triggerChores(context) ?? []),
      ...purgeChores(context, settings.retention),
      ...usageChores(context, settings.retention),
      ...webhookChores(context),
    ]
    const { graceMs: blobGraceMs, store: blobStore } = settings.blobs
    const blobClock = blobStore.kind === 'file' ? systemClock : clock
    await start(new Housekeeper(context, blobs, { blobGraceMs, blobClock, chores }))
  }
  const { metricsPort } = settings.logging
  const metrics = metricsPort === undefined ? null : stack.use(await serveMetrics(registry, metricsPort, log))
  // A worker without a listener also checks its gateway, and reports the result in its log.
  const gatewayCheck =
    roles.has('worker') && !ownGateway && settings.config.providers.length > 0
      ? stack.use(new GatewayCheck({ url: () => listening.urls.gatewayUrl, log }))
      : undefined

  // The listener: one surface for each role that answers HTTP.
  const needs: Record<string, () => Promise<void>> = {
    start: () => Promise.reject(new Error('the service is starting')),
    database: async () => void (await db.query('select 1')),
    migrations: () => requireMigrated(db),
    blobs: () => store.check(),
    ...(gatewayCheck !== undefined && { gateway: () => gatewayCheck.check() }),
  }
  const terminals = {
    context,
    doors,
    idleMs: settings.console.idleMs,
    authorityMs: settings.streams.life.authorityMs,
  }
  requireOwnPreviewSite(settings)
  const { authorityMs } = terminals
  const previews = {
    context,
    doors,
    authorityMs,
    domain: () => previewDomain(listening),
    clientAddress: clientAddressBehind(settings.http.trustedProxies),
  }
  const webhooks = webhookParts(settings, masterKey, around.network)
  const tools = { served: () => served, baseUrl: () => listening.urls.baseUrl, stopping: stopping.signal }
  const api = roles.has('api')
    ? await openApi(context, settings, { terminals, previews, tools, webhooks, triggers }, stack)
    : undefined
  if (api !== undefined) for (const service of triggers?.triggerServices(context) ?? []) await start(service)
  const account = roles.has('account')
    ? await openAccount(context, settings, { webhooks, guards, authUrl: () => listening.urls.authUrl }, stack)
    : undefined
  // The console of an account service with another database signs people in as a client of that service.
  const far = guards.far === undefined ? null : { account: guards.far, authority: guards.api }
  const hasConsole = far === null || settings.identity.far?.console !== undefined
  if (roles.has('api') && !hasConsole) {
    log.warn('this deployment has no console: set BERTH_CONSOLE_CLIENT (docs/operations.md)')
  }
  const console =
    roles.has('api') && hasConsole
      ? await openConsole(context, settings, {
          webhooks,
          authUrl: () => listening.urls.authUrl,
          far,
          terminals,
          triggers: triggers !== null,
          directory: around.consoleDirectory,
        })
      : undefined
  if (console !== undefined) await start(makePushSender(context, settings, webhooks))
  if (roles.has('account')) await start(makeSender(context, settings, webhooks, registry))
  if (api !== undefined || gateway !== undefined || account !== undefined) {
    const otherHosts = console === undefined ? undefined : new PreviewSite(previews, new ArtifactPages(() => blobs))
    const surfaces = { api, gateway, account, console, otherHosts, authority: guards.api }
    const { port, listener } = await listen(context, settings, surfaces, needs, stack)
    // Before the listener closes, which waits for calls of tools, and refuses the model requests of sandboxes.
    stack.defer(() => stopping.abort())
    listening = listeningOn(settings, port)
    note.listensOn(addressOf(settings.listener.host, port))
    served = listener
  }
  await gatewayCheck?.start()
  const tenant = await provideDevelopment(context, listening, api !== undefined)
  // Become ready last: whoever waits for readiness then finds everything that a start makes, including `dev.json`.
  delete needs['start']

  const opened = stack.move()
  return {
    settings: listening,
    metricsPort: metrics?.port ?? null,
    hostsPort,
    tenant,
    platform,
    close: () => opened.disposeAsync(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
