import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { directoryTree, type TreeTools } from '../confined/directory-tree.ts'
import type { LowerOwner, SandboxDriver } from '../driver.ts'
import { createEgressPolicy } from '../egress/egress-policy.ts'
import { attachToSupervisor } from '../leases/attach.ts'
import { pollDisks } from '../leases/disk-poller.ts'
import { writeTurnInputs } from '../leases/inputs.ts'
import { leaseFiles } from '../leases/lease-files.ts'
import { openLeaseFreezer } from '../leases/lease-freezer.ts'
import { leasePrograms } from '../leases/lease-programs.ts'
import { openLeaseProxies } from '../leases/lease-proxies.ts'
import { nameLease } from '../leases/name-lease.ts'
import { assertSpec } from '../leases/spec.ts'
import { createKeyedLock } from '../linux/keyed-lock.ts'
import { makeSandbox } from './create-lease.ts'
import { describeBounds } from './describe.ts'
import { destroyLease, endProcesses, listLeases } from './destroy-lease.ts'
import { layerTree } from './files/layer-above.ts'
import { lowerScripts } from './files/lower-script.ts'
import { shareBaselines } from './files/lower-trees.ts'
import type { Blank } from './launch/blank.ts'
import { openDriverContext } from './launch/driver-context.ts'
import type { BubblewrapOptions } from './options.ts'
import { openParking } from './parking.ts'
import { openPool } from './pool.ts'
import { leaseProcesses } from './processes/lease-processes.ts'
import { objectsOf } from './ready-sandbox.ts'
import { type WeakBound, weakBounds } from './weak-bounds.ts'

const DISK_POLL_MS = 2000

/** The driver, with additions for its tests, its benchmark and `berth doctor`. */
export interface BubblewrapDriver extends SandboxDriver {
  /** Resolves when the spares are ready. */
  prepared(): Promise<void>
  /** For an operator: bounds that this host could enforce better. */
  readonly weakBounds: readonly WeakBound[]
}

/**
 * Opens the bubblewrap driver of a data directory.
 * @throws MissingProgramError if the host lacks bubblewrap
 */
export async function createBubblewrapDriver(options: BubblewrapOptions): Promise<BubblewrapDriver> {
  const context = await openDriverContext(options)
  const { instance } = context
  const { log } = options
  // Within one process, operations on one lease wait for each other. Between processes, each of their steps is atomic.
  const locked = createKeyedLock()
  const proxies = openLeaseProxies(instance, options)
  const freezer = openLeaseFreezer(leaseProcesses(context))
  const parking = openParking(context, freezer)
  const poller =
    context.noLoopDisks === undefined
      ? undefined
      : pollDisks(instance, { everyMs: DISK_POLL_MS, log, end: files => parking.end(files.leaseId) })

  const name = async (blank: Blank, leaseId: string) => {
    try {
      return nameLease(instance, blank.files, leaseId)
    } catch (error) {
      await context.blanks.discard(blank)
      throw error
    }
  }
  const remove = async (leaseId: string) => {
    await proxies.end(leaseId)
    await destroyLease(context, leaseId)
  }

  const pool = options.pool && options.pool.most > 0 ? openPool(context, options.pool) : undefined
  const tools: TreeTools = {
    nodePath: options.nodePath,
    programPath: join(options.bundlesDir, 'tree.cjs'),
    ...(options.bwrap !== undefined && { bwrap: options.bwrap }),
  }
  const programs = leasePrograms(instance, tools, options.objects)
  const lowerOwner: LowerOwner = {
    uid: context.lowerOwner,
    tree: (path, baselines) => directoryTree(tools, { path, uid: context.lowerOwner }, baselines),
    layer: (directory, layers, baselines) => layerTree(tools, context.lowerOwner, { directory, layers, baselines }),
    lend: (leaseId, baselines) =>
      locked(leaseId, async () => {
        const files = leaseFiles(instance, leaseId)
        if (existsSync(files.host)) await shareBaselines(files, { workspace: baselines })
      }),
    run: lowerScripts({ ...tools, uid: context.lowerOwner, objects: options.objects }),
  }

  return {
    kind: 'bubblewrap',
    describe: () => describeBounds(context),
    weakBounds: weakBounds(context),
    lowerOwner: () => (context.noLowerTrees === undefined ? lowerOwner : null),
    layers: () =>
      context.noLowerTrees === undefined ? { firstUid: context.layerOwner } : { fault: context.noLowerTrees },
    async create(spec) {
      await locked(spec.leaseId, async () => {
        await assertSpec(spec, instance.dataDir)
        createEgressPolicy(spec.egress)
        const serveIt = () => proxies.serve(spec.leaseId, spec.egress)
        if (await pool?.take(spec, serveIt, () => remove(spec.leaseId))) return
        const blank = await context.blanks.take(spec.bounds)
        const files = await name(blank, spec.leaseId)
        try {
          await makeSandbox(context, blank, files, spec, serveIt, objectsOf(context, spec))
        } catch (error) {
          await remove(spec.leaseId).catch((second: unknown) => {
            log.error({ err: second, leaseId: spec.leaseId }, 'could not remove a sandbox that failed to start')
          })
          throw error
        } finally {
          blank.userNamespace?.release()
          context.blanks.refill()
        }
      })
    },
    attach: async (leaseId, signal) => attachToSupervisor(leaseFiles(instance, leaseId), signal),
    writeInputs: async (leaseId, turn, inputs) => writeTurnInputs(leaseFiles(instance, leaseId), turn, inputs),
    serveProxy: (leaseId, egress) => locked(leaseId, () => proxies.serve(leaseId, egress)),
    freeze: leaseId =>
      locked(leaseId, async () => {
        proxies.deny(leaseId)
        if (!(await parking.isParked(leaseId))) await freezer.freeze(leaseId)
      }),
    thaw: leaseId => locked(leaseId, async () => (await parking.wake(leaseId)) || (await freezer.thaw(leaseId))),
    park: (leaseId, fence) => locked(leaseId, () => parking.park(leaseId, fence)),
    stateOf: leaseId => parking.state(leaseId),
    endOrphans: leaseId => freezer.endOrphans(leaseId),
    keepOrphans: leaseId => freezer.keepOrphans(leaseId),
    async destroy(leaseId) {
      // Before taking the lock: a create that hangs holds it until its processes end. `remove` then checks that all
      // have ended.
      await endProcesses(context, leaseId).catch(() => undefined)
      await locked(leaseId, () => remove(leaseId))
    },
    ...programs,
    list: () => listLeases(context),
    async prepared() {
      await context.blanks.filled()
      await pool?.filled()
    },
    async [Symbol.asyncDispose]() {
      await proxies[Symbol.asyncDispose]()
      await poller?.[Symbol.asyncDispose]()
      await pool?.[Symbol.asyncDispose]()
      await context.blanks[Symbol.asyncDispose]()
      await context.cgroups?.tidy()
    },
  }
}
