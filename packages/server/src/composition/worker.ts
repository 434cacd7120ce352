import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheLimits, foreignRuntimeLimits, workspaceLimits } from '../checkpoints/limits.ts'
import type { Context } from '../context.ts'
import { Deliverer } from '../delivery/deliverer.ts'
import type { DeliveryContext } from '../delivery/delivery-context.ts'
import { repositorySources } from '../delivery/repository-sources.ts'
import { clearScratch } from '../delivery/scratch.ts'
import { UnpackedExtensions } from '../environments/extensions/unpacked-extensions.ts'
import { HostImages } from '../environments/images/host-images.ts'
import type { ExecutionContext } from '../execution/claim/execution-context.ts'
import { GatewayAccess, type GatewayAccessOptions } from '../execution/claim/gateway-access.ts'
import { GitAccess } from '../execution/claim/git-access.ts'
import { ExtensionKeeper } from '../execution/host/extension-keeper.ts'
import { MirrorKeeper } from '../execution/host/mirror-keeper.ts'
import { RuntimeAnnouncer } from '../execution/host/runtime-announcer.ts'
import { Sweeper } from '../execution/host/sweeper.ts'
import { ImageKeeper } from '../execution/images/image-keeper.ts'
import { Worker } from '../execution/worker.ts'
import { mintRuntimeCredential } from '../identity/runtime-credentials/runtime-credential.ts'
import { hostName } from '../kit/host-id.ts'
import type { Service } from '../kit/service.ts'
import { Mirrors } from '../repositories/mirrors.ts'
import { createBubblewrapDriver } from '../sandboxes/bubblewrap/create-driver.ts'
import { insidePaths } from '../sandboxes/bubblewrap/options.ts'
import type { SandboxDriver } from '../sandboxes/driver.ts'
import { mergeQueue } from '../sessions/merges/merge-queue.ts'
import { publicationQueue } from '../sessions/publications/publication-queue.ts'
import { reviewQueue } from '../sessions/reviews/review-queue.ts'
import type { Settings } from '../settings/settings.ts'
import { extensionCatalog } from './extension-catalog.ts'

/** Time between two polls for work if nothing wakes the worker. */
const POLL_MS = 500
const CLONE_MS = 5 * 60_000
const LONGEST_SWEEP_MS = 10_000

/** Connection of the worker's sandboxes to the gateway. The worker mints the credentials itself. */
export type SandboxGateway = Omit<GatewayAccessOptions, 'mint'>

/** The parts of a worker, none of them started. */
export interface WorkerParts {
  /** In the order in which they start; they stop in reverse. */
  readonly services: readonly Service[]
  /** The limits of this machine's sandboxes, one line each. */
  readonly platform: readonly string[]
}

/** Opens the sandbox driver and makes the services of a worker on it. */
export async function openWorker(
  context: Context,
  settings: Settings,
  gateway: SandboxGateway,
  stack: AsyncDisposableStack,
): Promise<WorkerParts> {
  const driver = stack.use(
    await createBubblewrapDriver({
      dataDir: settings.dataDir,
      nodePath: process.execPath,
      bundlesDir: bundlesDirectory(),
      bounds: settings.sandboxes.bounds,
      log: context.log,
    }),
  )
  const execution = await executionContext(context, settings, driver, gateway)
  const delivery = await deliveryContext(execution, settings)
  const queues = [reviewQueue(delivery), publicationQueue(delivery), mergeQueue(delivery)]
  const { fenceMs } = settings.worker.limits
  return {
    services: [
      new RuntimeAnnouncer(execution),
      new Worker(execution),
      new Sweeper(execution),
      new MirrorKeeper(execution),
      new ExtensionKeeper(execution),
      new ImageKeeper(execution),
      new Deliverer(context, queues, { claimMs: fenceMs, pollMs: POLL_MS }),
    ],
    platform: driver.describe(),
  }
}

async function executionContext(
  context: Context,
  { config, dataDir, leases, sandboxes, worker }: Settings,
  driver: SandboxDriver,
  gateway: SandboxGateway,
): Promise<ExecutionContext> {
  return {
    ...context,
    driver,
    extensions: {
      catalog: extensionCatalog(context, { dataDir, config }),
      unpacked: new UnpackedExtensions(join(dataDir, 'unpacked-extensions'), sandboxes.extensionsBytes),
    },
    mirrors: new Mirrors(join(dataDir, 'mirrors'), sandboxes.mirrorBytes),
    images: new HostImages(join(dataDir, 'images'), context.blobs, sandboxes.imageBytes),
    gateway: new GatewayAccess({
      ...gateway,
      mint(run, { costUsd }) {
        const bound = costUsd === undefined ? run : { ...run, budgetUsd: costUsd }
        return mintRuntimeCredential(context.db, bound, context.clock.now())
      },
    }),
    git: new GitAccess(context),
    bounds: sandboxes.bounds,
    publicHosts: sandboxes.egress,
    host: await hostName(dataDir),
    supervisorCommand: [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`],
    budgets: worker.budgets,
    approvalRules: worker.approvalRules,
    checkpointLimits: { workspace: workspaceLimits, conversation: foreignRuntimeLimits, cache: cacheLimits },
    limits: {
      ...worker.limits,
      cloneMs: CLONE_MS,
      pulseMs: worker.limits.pingMs / 2,
      leaseIdleMs: leases.idleMs,
      leaseMaxMs: leases.maxMs,
      pollMs: POLL_MS,
      sweepMs: Math.min(LONGEST_SWEEP_MS, leases.idleMs / 2),
    },
  }
}

async function deliveryContext(execution: ExecutionContext, settings: Settings): Promise<DeliveryContext> {
  const scratchDir = join(settings.dataDir, 'scratch')
  await clearScratch(scratchDir, execution.clock.now())
  return {
    ...execution,
    scratchDir,
    sources: repositorySources(execution, execution.mirrors),
    delivery: { ...settings.delivery, mergeMs: settings.delivery.publicationMs },
  }
}

/** Directory of the bundles that run inside sandboxes; `npm run build` makes them. */
function bundlesDirectory(): string {
  return resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
}
