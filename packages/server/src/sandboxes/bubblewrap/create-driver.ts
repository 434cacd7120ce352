import { join } from 'node:path'
import { allSettled } from '../../kit/all-settled.ts'
import { type SandboxDriver, type SandboxEgress, SandboxGoneError, type TreeProgram } from '../driver.ts'
import { createEgressPolicy } from '../egress/egress-policy.ts'
import { type EgressProxy, serveEgressProxy } from '../egress/proxy.ts'
import { errorCode } from '../linux/errors.ts'
import { createKeyedLock } from '../linux/keyed-lock.ts'
import { attachToSupervisor } from './attach.ts'
import { makeSandbox, nameLease } from './create-lease.ts'
import { describeBounds } from './describe.ts'
import { destroyLease, endProcesses, listLeases } from './destroy-lease.ts'
import { pollDisks } from './files/disk-poller.ts'
import { writeTurnInputs } from './files/inputs.ts'
import { leaseFiles, proxySocketName } from './files/lease-files.ts'
import { readRecord } from './files/record.ts'
import type { Blank } from './launch/blank.ts'
import { openDriverContext } from './launch/driver-context.ts'
import { assertSpec } from './launch/spec.ts'
import type { BubblewrapOptions } from './options.ts'
import { openLeaseFreezer } from './processes/lease-freezer.ts'

const DISK_POLL_MS = 2000

/** The driver, with additions for its tests and benchmark. */
export interface BubblewrapDriver extends SandboxDriver {
  /** Resolves when the spares are ready. */
  prepared(): Promise<void>
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
  const proxies = new Map<string, EgressProxy>()
  const freezer = openLeaseFreezer(context)
  const poller =
    context.noLoopDisks === undefined
      ? undefined
      : pollDisks(instance, { everyMs: DISK_POLL_MS, log, end: files => endProcesses(context, files.leaseId) })

  const serve = async (leaseId: string, egress: SandboxEgress) => {
    const rules = { policy: createEgressPolicy(egress), gateway: egress.gateway, service: egress.service }
    const serving = proxies.get(leaseId)
    if (serving) return serving.allow(rules)
    try {
      proxies.set(
        leaseId,
        await serveEgressProxy({
          ...rules,
          dir: leaseFiles(instance, leaseId).run,
          name: proxySocketName,
          log: { warn: (fields, message) => log.warn({ ...fields, leaseId }, message) },
          network: options.network,
        }),
      )
    } catch (error) {
      if (errorCode(error) === 'ENOENT')
        throw new SandboxGoneError(`sandbox ${leaseId} does not exist`, { cause: error })
      throw error
    }
  }
  const name = async (blank: Blank, leaseId: string) => {
    try {
      return nameLease(context, blank, leaseId)
    } catch (error) {
      await context.blanks.discard(blank)
      throw error
    }
  }
  const remove = async (leaseId: string) => {
    await proxies.get(leaseId)?.[Symbol.asyncDispose]()
    proxies.delete(leaseId)
    await destroyLease(context, leaseId)
  }

  const program: TreeProgram = {
    nodePath: options.nodePath,
    programPath: join(options.bundlesDir, 'tree.cjs'),
    ...(options.bwrap !== undefined && { bwrap: options.bwrap }),
  }

  return {
    kind: 'bubblewrap',
    describe: () => describeBounds(context),
    lowerOwner: () => (context.noLowerTrees === undefined ? { uid: context.lowerOwner, program } : null),
    async create(spec) {
      await locked(spec.leaseId, async () => {
        await assertSpec(spec, instance.dataDir)
        createEgressPolicy(spec.egress)
        const blank = await context.blanks.take(spec.bounds)
        const files = await name(blank, spec.leaseId)
        try {
          await makeSandbox(context, blank, files, spec, () => serve(spec.leaseId, spec.egress))
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
    serveProxy: (leaseId, egress) => locked(leaseId, () => serve(leaseId, egress)),
    freeze: leaseId =>
      locked(leaseId, async () => {
        proxies.get(leaseId)?.deny()
        await freezer.freeze(leaseId)
      }),
    thaw: leaseId => locked(leaseId, () => freezer.thaw(leaseId)),
    stateOf: leaseId => freezer.state(leaseId),
    endOrphans: leaseId => freezer.endOrphans(leaseId),
    keepOrphans: leaseId => freezer.keepOrphans(leaseId),
    async destroy(leaseId) {
      // Before taking the lock: a create that hangs holds it until its processes end. `remove` then checks that all
      // have ended.
      await endProcesses(context, leaseId).catch(() => undefined)
      await locked(leaseId, () => remove(leaseId))
    },
    async trees(leaseId) {
      const files = leaseFiles(instance, leaseId)
      const record = await readRecord(files)
      if (record === undefined) throw new SandboxGoneError(`sandbox ${leaseId} does not exist`)
      const owner = process.getuid?.() === 0 ? { uid: record.uid } : {}
      return {
        workspace: { path: files.workspace, ...owner },
        home: { path: files.home, ...owner },
        baselines: join(files.host, 'baselines'),
        program,
      }
    },
    list: () => listLeases(context),
    async prepared() {
      await context.blanks.filled()
    },
    async [Symbol.asyncDispose]() {
      await allSettled([...proxies.values()].map(proxy => proxy[Symbol.asyncDispose]()))
      proxies.clear()
      await poller?.[Symbol.asyncDispose]()
      await context.blanks[Symbol.asyncDispose]()
      await context.cgroups?.tidy()
    },
  }
}
