import { join } from 'node:path'
import { CheckpointTrees } from '@berth/core/checkpoints/checkpoint-trees.ts'
import { cacheLimits, foreignRuntimeLimits, homeLimits, workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import type { Context } from '@berth/core/context.ts'
import { Deliverer } from '@berth/core/delivery/deliverer.ts'
import { followTimes } from '@berth/core/delivery/delivery-context.ts'
import { repositorySources } from '@berth/core/delivery/repository-sources.ts'
import { clearScratch } from '@berth/core/delivery/scratch.ts'
import { TenantShares } from '@berth/core/environments/extensions/tenant-shares.ts'
import { UnpackedExtensions } from '@berth/core/environments/extensions/unpacked-extensions.ts'
import { HostImages } from '@berth/core/environments/images/host-images.ts'
import { FarHosts, type FarHostsOptions } from '@berth/core/hosts/far-hosts.ts'
import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import { type Host, Hosts } from '@berth/core/hosts/hosts.ts'
import { clientAddressBehind } from '@berth/core/http/request/client-address.ts'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { Checkouts } from '@berth/core/repositories/checkouts.ts'
import { mirrorPacks } from '@berth/core/repositories/mirror-packs.ts'
import { Mirrors } from '@berth/core/repositories/mirrors.ts'
import { followQueue } from '@berth/core/sessions/following/follow-queue.ts'
import { listExtensionsShownBy, listShownExtensions } from '@berth/core/sessions/leases/lease-extension-sql.ts'
import { listShownTrees } from '@berth/core/sessions/leases/lease-image-sql.ts'
import { listShownLayers } from '@berth/core/sessions/leases/lease-layer-sql.ts'
import { mergeQueue } from '@berth/core/sessions/merges/merge-queue.ts'
import { OutputJudge } from '@berth/core/sessions/outputs/output-judge.ts'
import { publicationQueue } from '@berth/core/sessions/publications/publication-queue.ts'
import { reviewQueue } from '@berth/core/sessions/reviews/review-queue.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { hostName } from '@berth/platform/kit/host-id.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { HostCache } from '@berth/platform/storage/host-cache.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { servingProcesses } from '@berth/sandboxes/leases/serving.ts'
import { PackageLayers } from '@berth/sandboxes/packages/package-layers.ts'
import type { WorkerContext } from '@berth/worker/claim/execution-context.ts'
import { GatewayAccess, type GatewayAccessOptions } from '@berth/worker/claim/gateway-access.ts'
import { GitAccess } from '@berth/worker/claim/git-access.ts'
import { isRunOnLease } from '@berth/worker/claim/hold-sql.ts'
import { NetworkAccess } from '@berth/worker/claim/network-access.ts'
import { AgentKeeper } from '@berth/worker/host/agent-keeper.ts'
import { CacheKeeper } from '@berth/worker/host/cache-keeper.ts'
import { CheckoutKeeper } from '@berth/worker/host/checkout-keeper.ts'
import { MirrorKeeper } from '@berth/worker/host/mirror-keeper.ts'
import { RuntimeAnnouncer } from '@berth/worker/host/runtime-announcer.ts'
import { Sweeper } from '@berth/worker/host/sweeper.ts'
import { TerminalKeeper } from '@berth/worker/host/terminal-keeper.ts'
import { ImageKeeper } from '@berth/worker/images/image-keeper.ts'
import { Worker } from '@berth/worker/worker.ts'
import { fileRequestQueue } from '../console/files/file-request-queue.ts'
import { extensionCatalog } from './extension-catalog.ts'
import { openDriver } from './open-driver.ts'
import { supervisorCommand } from './readiness.ts'

/** Share of the deadline for making a sandbox that a host elsewhere may use up in silence. */
const HOST_SHARE = 3 / 4

/** Time between two polls for work if nothing wakes the worker. */
const POLL_MS = 500
/** Shorter steps before the agent begins are not told of. */
const REPORT_STEP_MS = 1000
const CLONE_MS = 5 * 60_000
const LONGEST_SWEEP_MS = 10_000

/** Connection of the worker's sandboxes to the gateway. The worker mints the credentials itself. */
export type SandboxGateway = Omit<GatewayAccessOptions, 'mint' | 'log'>

/** The parts of its process that a worker uses. */
export interface WorkerAround {
  readonly gateway: SandboxGateway
  /** Judges hosts that are pods. */
  readonly identity: HostIdentity | undefined
  /** Where other processes reach its sandboxes; undefined: nowhere. */
  readonly relayUrl: string | undefined
  /** The id of the process's row, which the worker writes. */
  readonly holder: string
  /** Bounds of calls to hosts that dial this process; undefined: those of a service. */
  readonly hostCalls: FarHostsOptions['calls']
  /** How long those hosts rest after failures; undefined: as those of a service. */
  readonly hostRests: FarHostsOptions['rests']
}

/** The parts of a worker, none of them started. */
export interface WorkerParts {
  /** In the order in which they start; they stop in reverse. */
  readonly services: readonly Service[]
  /** The limits of this machine's sandboxes, one line each. */
  readonly platform: readonly string[]
  readonly hosts: Hosts
  /** The Runs that it works on, and how many more it would take. */
  load(): Worker['load']
  atRest(): Sweeper['atRest']
  /** The port that hosts dial; null if none may. */
  hostsPort(): number | null
}

/** Opens the sandbox driver and makes the services of a worker on it. */
export async function openWorker(
  context: Context,
  settings: Settings,
  { gateway, identity, relayUrl, holder, hostCalls, hostRests: rests }: WorkerAround,
  stack: AsyncDisposableStack,
): Promise<WorkerParts> {
  const mirrors = new Mirrors(join(settings.dataDir, 'mirrors'), settings.sandboxes.mirrorBytes)
  if (settings.compute.kind === 'pod') throw new StartError('BERTH_COMPUTE is pod: that is for `berth host` in a pod')
  const driver = settings.compute.kind === 'remote' ? null : stack.use(await openDriver(context, settings, mirrors))
  const working = await workerContext(context, settings, { driver, mirrors, gateway, relayUrl })
  const { execution } = working
  const worker = new Worker(execution, holder)
  const calls = { createMs: settings.worker.limits.provisionMs * HOST_SHARE, ...hostCalls }
  const far = farHosts(working, mirrors, settings, { identity, holder, calls, rests })
  stack.use(execution.gateway)
  stack.use(execution.network)
  stack.use(execution.outputs)
  await clearScratch(execution.scratchDir, systemClock.now())
  const { publicationMs: mergeMs, followPollMs: pollMs } = settings.delivery
  const times = { ...settings.delivery, mergeMs, follow: { ...followTimes, pollMs } }
  const delivery = {
    ...execution,
    delivery: times,
    // Known only once the listener has its port.
    get consoleUrl() {
      return context.consoleUrl
    },
    get baseUrl() {
      return context.baseUrl
    },
  }
  const queues = [reviewQueue, publicationQueue, mergeQueue, followQueue, fileRequestQueue].map(of => of(delivery))
  const { fenceMs } = settings.worker.limits
  const givesBack = async () => settings.leases.stopGivesBack && (await servesAlone(settings.dataDir))
  const sweeper = new Sweeper(execution, givesBack)
  return {
    services: [
      new RuntimeAnnouncer(execution),
      worker,
      sweeper,
      new AgentKeeper(execution),
      new TerminalKeeper(execution, settings.console),
      new PeriodicTasks([
        new MirrorKeeper(execution),
        new CacheKeeper(execution),
        new ImageKeeper(execution),
        new CheckoutKeeper(execution),
      ]),
      new Deliverer(context, queues, { claimMs: fenceMs, pollMs: POLL_MS }),
      ...(far === null ? [] : [far]),
    ],
    hosts: execution.hosts,
    load: () => worker.load,
    atRest: () => sweeper.atRest,
    platform: driver?.describe() ?? ['this process makes no sandboxes of its own: hosts dial it'],
    hostsPort: () => far?.port ?? null,
  }
}

/** Returns true if no other process serves from the data directory, whose sandboxes all of them share. */
async function servesAlone(dataDir: string): Promise<boolean> {
  return (await servingProcesses(dataDir)).every(pid => pid === process.pid)
}

type HostParts = Pick<Host, 'mirrors' | 'checkouts' | 'checkpoints' | 'images' | 'packages'>

/** A worker, and the parts of a host that are at its machine wherever the host is. */
interface Working {
  readonly execution: WorkerContext
  partsOf(driver: SandboxDriver): HostParts
}

/**
 * Makes the part that takes hosts which dial this process; null if it takes none.
 * @param holder the id of the worker's row in `processes`: by it others know which hosts a worker has
 */
function farHosts(
  { execution, partsOf }: Working,
  mirrors: Mirrors,
  settings: Settings,
  { identity, holder, calls, rests }: Pick<FarHostsOptions, 'identity' | 'holder' | 'calls' | 'rests'>,
): FarHosts | null {
  const { hostsPort: port, http, listener } = settings
  if (port === undefined) return null
  const { db, hosts, log } = execution
  return new FarHosts({
    ...{ db, hosts, log, identity, holder, calls, rests },
    parts: partsOf,
    packs: mirrorPacks(mirrors),
    listener: { host: listener.host, port },
    clientAddress: clientAddressBehind(http.trustedProxies),
    leaseMaxMs: settings.leases.maxMs,
  })
}

async function workerContext(
  context: Context,
  { config, dataDir, http, leases, roles, sandboxes, worker }: Settings,
  {
    driver,
    mirrors,
    gateway,
    relayUrl,
  }: { readonly driver: SandboxDriver | null; readonly mirrors: Mirrors } & Pick<WorkerAround, 'gateway' | 'relayUrl'>,
): Promise<Working> {
  const { db } = context
  const host = await hostName(dataDir)
  const hosts = new Hosts()
  const extensions = new HostCache(join(dataDir, 'unpacked-extensions'), {
    bytes: sandboxes.extensionsBytes,
    inUse: async () => new Set(await listShownExtensions(db, hosts.ids())),
  })
  const trees = new HostCache(join(dataDir, 'images'), {
    bytes: sandboxes.imageBytes,
    inUse: async () => new Set(await listShownTrees(db, hosts.ids())),
  })
  const layers = new HostCache(join(dataDir, 'package-layers'), {
    bytes: sandboxes.packagesBytes,
    inUse: async () => new Set(await listShownLayers(db, hosts.ids())),
  })
  const partsOf = (own: SandboxDriver): HostParts => ({
    mirrors,
    checkouts: new Checkouts(trees),
    checkpoints: new CheckpointTrees(trees, context.blobs),
    images: new HostImages(trees, context.blobs),
    packages: new PackageLayers({ cache: layers, support: own.layers(), sources: sandboxes.packageSources }),
  })
  const network = new NetworkAccess({ ...context, approvalRules: worker.approvalRules, limits: worker.limits })
  if (driver !== null) hosts.add({ id: host, driver, ...partsOf(driver) })
  const execution: WorkerContext = {
    ...context,
    hosts,
    scratchDir: join(dataDir, 'scratch'),
    workersDir: join(dataDir, 'workers'),
    sources: repositorySources(context, mirrors),
    outputs: new OutputJudge(),
    extensions: {
      catalog: extensionCatalog(context, { dataDir, config }),
      unpacked: new UnpackedExtensions(extensions, dataDir),
      shares: new TenantShares({
        cache: extensions,
        bytes: sandboxes.extensionsBytes / 2,
        shownBy: organizationId => listExtensionsShownBy(db, organizationId, hosts.ids()),
        clock: context.clock,
      }),
    },
    gateway: new GatewayAccess({
      ...gateway,
      log: context.log,
      expects: leaseId => isRunOnLease(db, leaseId),
      mint(run, { costUsd }) {
        const bound = costUsd === undefined ? run : { ...run, budgetUsd: costUsd }
        return mintRuntimeCredential(context.db, bound, context.clock.now())
      },
    }),
    git: new GitAccess(context),
    network,
    bounds: sandboxes.bounds,
    publicHosts: sandboxes.egress,
    search: config.search,
    self: { host, roles: [...roles], release: http.release ?? null, relayUrl },
    supervisorCommand,
    budgets: worker.budgets,
    approvalRules: worker.approvalRules,
    checkpointLimits: {
      workspace: workspaceLimits,
      home: homeLimits,
      conversation: foreignRuntimeLimits,
      cache: cacheLimits,
    },
    limits: {
      ...worker.limits,
      reportStepMs: REPORT_STEP_MS,
      cloneMs: CLONE_MS,
      pulseMs: worker.limits.pingMs / 2,
      leaseIdleMs: leases.idleMs,
      leaseMaxMs: leases.maxMs,
      pollMs: POLL_MS,
      sweepMs: Math.min(LONGEST_SWEEP_MS, leases.idleMs / 2),
    },
  }
  return { execution, partsOf }
}
