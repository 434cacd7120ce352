import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CheckpointTrees } from '@berth/core/checkpoints/checkpoint-trees.ts'
import { cacheLimits, foreignRuntimeLimits, homeLimits, workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import { repositorySources } from '@berth/core/delivery/repository-sources.ts'
import { TenantShares } from '@berth/core/environments/extensions/tenant-shares.ts'
import { UnpackedExtensions } from '@berth/core/environments/extensions/unpacked-extensions.ts'
import { HostImages } from '@berth/core/environments/images/host-images.ts'
import { defaultIdentity } from '@berth/core/git/git-identity.ts'
import { openGitHosts } from '@berth/core/git-hosts/open-git-hosts.ts'
import { Hosts } from '@berth/core/hosts/hosts.ts'
import { Checkouts } from '@berth/core/repositories/checkouts.ts'
import { Mirrors } from '@berth/core/repositories/mirrors.ts'
import { RuntimeCatalog, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { configuredModels } from '@berth/core/runtimes/configured-models.ts'
import { listExtensionsShownBy } from '@berth/core/sessions/leases/lease-extension-sql.ts'
import { OutputJudge } from '@berth/core/sessions/outputs/output-judge.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { hostName } from '@berth/platform/kit/host-id.ts'
import type { Network } from '@berth/platform/network/dial.ts'
import type { GitHostConfig } from '@berth/platform/settings/config-file.ts'
import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import type { HostCacheBounds } from '@berth/platform/storage/host-cache.ts'
import { clientConfig } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { createBubblewrapDriver } from '@berth/sandboxes/bubblewrap/create-driver.ts'
import type { PublicHosts, SandboxBounds, SandboxDriver } from '@berth/sandboxes/driver.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { createOciDriver } from '@berth/sandboxes/oci/create-driver.ts'
import { PackageLayers } from '@berth/sandboxes/packages/package-layers.ts'
import { extensionCatalog } from '@berth/server/composition/extension-catalog.ts'
import {
  atHost,
  type ExecutionContext,
  type ExecutionLimits,
  type WorkerContext,
} from '@berth/worker/claim/execution-context.ts'
import { GatewayAccess, type GatewayAccessOptions } from '@berth/worker/claim/gateway-access.ts'
import { GitAccess } from '@berth/worker/claim/git-access.ts'
import { isRunOnLease } from '@berth/worker/claim/hold-sql.ts'
import { NetworkAccess } from '@berth/worker/claim/network-access.ts'
import { pino } from 'pino'
import { hostCache } from '../storage/host-cache.ts'
import { silentLog } from './log.ts'
import type { TestService } from './service.ts'

const usualBounds: SandboxBounds = {
  memoryBytes: 512 * 1024 ** 2,
  processes: 128,
  cpus: 2,
  fileSizeBytes: 1024 ** 3,
  diskBytes: 256 * 1024 ** 2,
}

const noExtensions = { egress: { hosts: undefined, refuse: [] }, extensions: { catalog: [] } }
/** No limit is short, so none fires by chance on a busy machine; a test about a limit sets it. */
const limits: ExecutionLimits = {
  fenceMs: 30_000,
  concurrency: 8,
  maxAttempts: 3,
  maxHandovers: 3,
  sealsKept: 2,
  provisionMs: 60_000,
  setupMs: 600_000,
  agentStartMs: 60_000,
  runMs: 600_000,
  runEvents: 200_000,
  runEventBytes: 256 * 1024 ** 2,
  cancelGraceMs: 10_000,
  approvalMs: 600_000,
  parkMs: 600_000,
  agentIdleMs: 600_000,
  pingMs: 10_000,
  // bound: a pause between two looks
  pulseMs: 1000,
  reportStepMs: 600_000,
  cloneMs: 300_000,
  hostLostMs: 300_000,
  leaseIdleMs: 600_000,
  leaseMaxMs: 1_200_000,
  // bound: a pause between two looks
  pollMs: 50,
  // bound: a pause between two looks
  sweepMs: 50,
}

/**
 * Makes the context of a worker that a test runs beside a service without one. It knows the `shell` runtime and those
 * given.
 */
export async function workerContext(
  { db, dataDir }: Pick<TestService, 'db' | 'dataDir'>,
  stack: AsyncDisposableStack,
  more: {
    limits?: Partial<ExecutionLimits>
    bounds?: Partial<SandboxBounds>
    budgets?: RunBudgets
    approvalRules?: ExecutionContext['approvalRules']
    checkpointLimits?: Partial<ExecutionContext['checkpointLimits']>
    driver?: (real: SandboxDriver) => SandboxDriver
    blobs?: (real: Blobs) => Blobs
    runtimes?: readonly RuntimeEntry[]
    /** Sandboxes are containers of this image. */
    image?: string
    bwrap?: string
    cgroups?: false | 'v1'
    gitHosts?: readonly GitHostConfig[]
    gateway?: Omit<GatewayAccessOptions, 'log'>
    publicHosts?: PublicHosts
    network?: Network
    imageBounds?: Partial<HostCacheBounds>
    layerBounds?: Partial<HostCacheBounds>
    packageSources?: string
  } = {},
): Promise<ExecutionContext> {
  const bounds = { ...usualBounds, ...more.bounds }
  const mirrors = new Mirrors(join(dataDir, 'mirrors'), 1024 ** 4)
  const common = {
    dataDir,
    nodePath: process.execPath,
    bundlesDir: resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist'),
    bounds,
    log: silentLog,
    objects: (id: string) => mirrors.directoryOf(id),
    ...(more.network !== undefined && { network: more.network }),
  }
  const real: SandboxDriver = stack.use(
    more.image === undefined
      ? await createBubblewrapDriver({
          ...common,
          ...(more.bwrap !== undefined && { bwrap: more.bwrap }),
          ...(more.cgroups !== undefined && { cgroups: more.cgroups }),
        })
      : await createOciDriver({ ...common, image: more.image, runtime: 'runc' }),
  )
  const log = pino({ level: 'silent' })
  const wakeups = stack.use(
    new PostgresWakeups({ connection: clientConfig({ connection: db.connection, log: silentLog }), log }),
  )
  await wakeups.start()
  const files = await FileBlobs.open(join(dataDir, 'blobs'))
  const blobs = more.blobs?.(files) ?? files
  const inside = (name: string) => [insidePaths.node, `${insidePaths.bundles}/${name}.js`]
  const shell = {
    id: 'shell',
    name: 'Shell',
    command: inside('shell'),
    env: {},
    reach: [],
    mounts: [],
    state: [],
    stateless: true,
  }
  const gitHosts = openGitHosts(
    { db: db.database, clock: systemClock, dataDir, consoleUrl: () => 'http://localhost' },
    more.gitHosts ?? [],
    stack,
  )
  const host = await hostName(dataDir)
  const trees = hostCache(join(dataDir, 'images'), more.imageBounds)
  const hosts = new Hosts([
    {
      id: host,
      driver: more.driver?.(real) ?? real,
      mirrors,
      packages: new PackageLayers({
        cache: hostCache(join(dataDir, 'package-layers'), more.layerBounds),
        support: more.driver?.(real).layers() ?? real.layers(),
        sources: more.packageSources ?? '/dev/null',
      }),
      checkouts: new Checkouts(trees),
      checkpoints: new CheckpointTrees(trees, blobs),
      images: new HostImages(trees, blobs),
    },
  ])
  const unpacked = hostCache(join(dataDir, 'unpacked-extensions'))
  const network = stack.use(
    new NetworkAccess({
      db: db.database,
      clock: systemClock,
      wakeups,
      log,
      approvalRules: more.approvalRules ?? [],
      limits: { ...limits, ...more.limits },
    }),
  )
  const context: WorkerContext = {
    db: db.database,
    blobs,
    wakeups,
    clock: systemClock,
    log,
    runtimes: new RuntimeCatalog([shell, ...(more.runtimes ?? [])]),
    gitHosts,
    commits: { identity: defaultIdentity, signer: null },
    models: configuredModels({
      providers: [],
      models: { default: undefined, aliases: {}, fallbacks: {}, details: {} },
    }),
    defaultModel: null,
    workspaceWaitMs: 30_000,
    reviewWaitMs: 30_000,
    consoleUrl: 'http://localhost',
    baseUrl: 'http://localhost',
    hosts,
    scratchDir: join(dataDir, 'scratch'),
    sources: repositorySources({ db: db.database, gitHosts }, mirrors),
    outputs: stack.use(new OutputJudge()),
    extensions: {
      catalog: extensionCatalog({ clock: systemClock, log }, { dataDir, config: noExtensions }),
      unpacked: new UnpackedExtensions(unpacked, dataDir),
      shares: new TenantShares({
        cache: unpacked,
        bytes: Number.POSITIVE_INFINITY,
        shownBy: organizationId => listExtensionsShownBy(db.database, organizationId, [host]),
        clock: systemClock,
      }),
    },
    gateway: stack.use(
      new GatewayAccess({
        expects: leaseId => isRunOnLease(db.database, leaseId),
        ...(more.gateway ?? { url: () => 'http://127.0.0.1:9', mint: () => Promise.resolve('svc_run_unused') }),
        log,
      }),
    ),
    git: new GitAccess({ db: db.database, clock: systemClock, gitHosts, log }),
    network,
    bounds,
    publicHosts: more.publicHosts,
    search: undefined,
    limits: { ...limits, ...more.limits },
    budgets: more.budgets ?? {},
    approvalRules: more.approvalRules ?? [],
    checkpointLimits: {
      workspace: workspaceLimits,
      home: homeLimits,
      conversation: foreignRuntimeLimits,
      cache: cacheLimits,
      ...more.checkpointLimits,
    },
    self: { host, roles: ['worker'], release: null },
    supervisorCommand: [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`],
  }
  return atHost(context, host)
}
