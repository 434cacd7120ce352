import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TreeTools } from '../confined/directory-tree.ts'
import type { SandboxDriver } from '../driver.ts'
import { createEgressPolicy } from '../egress/egress-policy.ts'
import { attachToSupervisor } from '../leases/attach.ts'
import { readContainerRecord } from '../leases/container-record.ts'
import { writeTurnInputs } from '../leases/inputs.ts'
import { leaseFiles } from '../leases/lease-files.ts'
import { openLeaseFreezer } from '../leases/lease-freezer.ts'
import { leasePrograms } from '../leases/lease-programs.ts'
import { openLeaseProxies } from '../leases/lease-proxies.ts'
import { nameLease } from '../leases/name-lease.ts'
import { removeLeaseFiles } from '../leases/remove-files.ts'
import { assertSpec } from '../leases/spec.ts'
import { isLeaseId } from '../linux/instance.ts'
import { createKeyedLock } from '../linux/keyed-lock.ts'
import type { ContainerBlank } from './container-blank.ts'
import { containerProcesses, killContainer } from './container-processes.ts'
import { makeContainer } from './create-container.ts'
import { describeBounds } from './describe.ts'
import { openOciContext } from './oci-context.ts'
import type { OciOptions } from './options.ts'

/** Why no container has layers or lower trees: both stand for parts of this host's own system. */
const NO_LAYERS = "the system of a container is its image's"

/** The driver, with additions for its tests and benchmark. */
export interface OciDriver extends SandboxDriver {
  /** Resolves when the spares are ready. */
  prepared(): Promise<void>
}

/**
 * Opens the driver that makes sandboxes of containers of an image.
 * @throws MissingProgramError if the host lacks podman
 * @throws ImageError if the image is not there, or lacks what sandboxes need
 */
export async function createOciDriver(given: OciOptions): Promise<OciDriver> {
  const context = await openOciContext(given)
  const { blanks, engine, instance, options, uids } = context
  const { log } = options
  // Within one process, operations on one lease wait for each other. Between processes, each of their steps is atomic.
  const locked = createKeyedLock()
  const proxies = openLeaseProxies(instance, options)
  const freezer = openLeaseFreezer(containerProcesses(instance))
  const tools: TreeTools = { nodePath: options.nodePath, programPath: join(options.bundlesDir, 'tree.cjs') }

  const name = async (blank: ContainerBlank, leaseId: string) => {
    try {
      return nameLease(instance, blank.files, leaseId)
    } catch (error) {
      await blanks.discard(blank)
      throw error
    }
  }
  const end = async (leaseId: string) => {
    const files = leaseFiles(instance, leaseId)
    killContainer(files)
    const record = readContainerRecord(files)
    if (record !== undefined) await engine.remove([record.name])
  }
  const remove = async (leaseId: string) => {
    await proxies.end(leaseId)
    await end(leaseId)
    const files = leaseFiles(instance, leaseId)
    await removeLeaseFiles(files)
    await uids.release(files.dir)
  }

  return {
    kind: 'oci',
    describe: () => describeBounds(context),
    lowerOwner: () => null,
    layers: () => ({ fault: NO_LAYERS }),
    async create(spec) {
      await locked(spec.leaseId, async () => {
        await assertSpec(spec, instance.dataDir)
        createEgressPolicy(spec.egress)
        if (spec.lower !== undefined || spec.layer !== undefined) throw new TypeError(NO_LAYERS)
        const blank = await blanks.take(spec.bounds, spec.mounts)
        try {
          const files = await name(blank, spec.leaseId)
          try {
            await makeContainer(context, blank, files, spec, () => proxies.serve(spec.leaseId, spec.egress))
          } catch (error) {
            await remove(spec.leaseId).catch((second: unknown) => {
              log.error({ err: second, leaseId: spec.leaseId }, 'could not remove a sandbox that failed to start')
            })
            throw error
          }
        } finally {
          blanks.refill()
        }
      })
    },
    attach: async (leaseId, signal) => attachToSupervisor(leaseFiles(instance, leaseId), signal),
    writeInputs: async (leaseId, turn, inputs) => writeTurnInputs(leaseFiles(instance, leaseId), turn, inputs),
    serveProxy: (leaseId, egress) => locked(leaseId, () => proxies.serve(leaseId, egress)),
    freeze: leaseId =>
      locked(leaseId, async () => {
        proxies.deny(leaseId)
        await freezer.freeze(leaseId)
      }),
    thaw: leaseId => locked(leaseId, () => freezer.thaw(leaseId)),
    // The processes of a container end with it.
    park: async () => false,
    stateOf: leaseId => freezer.state(leaseId),
    endOrphans: leaseId => freezer.endOrphans(leaseId),
    keepOrphans: leaseId => freezer.keepOrphans(leaseId),
    async destroy(leaseId) {
      // Before taking the lock: a create that hangs holds it until its processes end.
      killContainer(leaseFiles(instance, leaseId))
      await locked(leaseId, () => remove(leaseId))
    },
    ...leasePrograms(instance, tools, options.objects),
    async list() {
      const prefix = `${instance.leasesDir}/`
      const [directories, owners] = await Promise.all([readdir(instance.leasesDir), uids.owners()])
      const claimed = owners.filter(owner => owner.startsWith(prefix)).map(owner => owner.slice(prefix.length))
      return [...new Set([...directories, ...claimed])].filter(isLeaseId).toSorted()
    },
    prepared: () => blanks.filled(),
    async [Symbol.asyncDispose]() {
      await proxies[Symbol.asyncDispose]()
      await blanks[Symbol.asyncDispose]()
    },
  }
}
