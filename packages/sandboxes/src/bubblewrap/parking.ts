import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { allSettled } from '@berth/platform/kit/all-settled.ts'
import type { SandboxState } from '../driver.ts'
import { insidePaths } from '../inside-paths.ts'
import { attachToSupervisor } from '../leases/attach.ts'
import { hostNames, type LeaseFiles, leaseFiles } from '../leases/lease-files.ts'
import { isDead, type LeaseFreezer } from '../leases/lease-freezer.ts'
import { groupOf } from '../leases/lease-group.ts'
import { markOf } from '../leases/mark.ts'
import { hasParkedNote, readParked, removeParked, writeParked } from '../leases/parked-note.ts'
import { type LeaseRecord, readRecord } from '../leases/record.ts'
import { withHostLock } from '../linux/host-lock.ts'
import { makeUserNamespace } from '../linux/user-namespace.ts'
import { waitUntil } from '../linux/wait-until.ts'
import { orderPark } from '../park-line.ts'
import { rlimitsOf } from './create-lease.ts'
import { endProcesses } from './destroy-lease.ts'
import { insideCommand } from './launch/arguments.ts'
import type { DriverContext } from './launch/driver-context.ts'
import { launch, writeOptions } from './launch/launch.ts'
import { startWaitingShell } from './launch/waiting-shell.ts'

/** A supervisor that has nothing to do answers at once; its sandbox may have to read its pages from disk. */
const ANSWER_MS = 2_000
const ENDING_MS = 5_000

/** Ends the processes of sandboxes and starts them again. Any process of this host may call each method. */
export interface Parking {
  /** @returns whether the sandbox is parked */
  park(leaseId: string, fence: number): Promise<boolean>
  state(leaseId: string): Promise<SandboxState>
  /** Returns whether a sandbox is parked, once no other process of this host parks or starts it. */
  isParked(leaseId: string): Promise<boolean>
  /** Ends a sandbox's processes; one that is parked is gone then. */
  end(leaseId: string): Promise<void>
  /** @returns whether the sandbox was parked; false also if it cannot be started, and so is gone */
  wake(leaseId: string): Promise<boolean>
}

/**
 * Opens the parking of a driver.
 *
 * A parked sandbox has no process, and a note beside its files. The note is written once the supervisor takes no orders any more,
 * and before its end; it is removed after another has started. So a note counts only if no process is left: if the process
 * that parked or started the sandbox has died in between, the sandbox runs.
 */
export function openParking(context: DriverContext, freezer: LeaseFreezer): Parking {
  const { instance, uids } = context
  const { log } = context.options

  const readValidNote = async (files: LeaseFiles) => {
    const note = readParked(files)
    const record = note && (await readRecord(files))
    // The claims of a host end with it, and somebody else may have the uid then.
    if (note === undefined || record === undefined || !uids.holds(record.uid, files.dir)) return undefined
    return { ...note, record }
  }
  type ValidNote = NonNullable<Awaited<ReturnType<typeof readValidNote>>>

  /** Does work on a parked sandbox while no other process of this host does any; false if it is not parked. */
  const ifParked = async (leaseId: string, work: (files: LeaseFiles, note: ValidNote) => Promise<boolean>) => {
    const files = leaseFiles(instance, leaseId)
    if (!hasParkedNote(files)) return false
    return withHostLock(`${instance.tag}/${leaseId}`, async () => {
      const note = await readValidNote(files)
      if (note !== undefined && (await freezer.state(leaseId)) === 'gone') return work(files, note)
      removeParked(files)
      return false
    })
  }

  const isParked = (leaseId: string) => ifParked(leaseId, async () => true)
  return {
    isParked,
    async park(leaseId, fence) {
      if (await isParked(leaseId)) return true
      return withHostLock(`${instance.tag}/${leaseId}`, async () => {
        const files = leaseFiles(instance, leaseId)
        const stream = await attachToSupervisor(files, AbortSignal.timeout(ANSWER_MS))
        stream.setTimeout(ANSWER_MS, () => stream.destroy(new Error(`the supervisor of sandbox ${leaseId} is silent`)))
        try {
          const resume = await orderPark(stream, { fence })
          if (resume === null) return false
          stream.setTimeout(0)
          writeParked(files, resume)
          await endProcesses(context, leaseId)
          // The kernel lets go of a dead process's socket a moment after the process.
          if (await waitUntil(() => isDead(files), ENDING_MS)) return true
          throw new Error(`the supervisor of sandbox ${leaseId} did not end`)
        } finally {
          stream.destroy()
        }
      })
    },
    async state(leaseId) {
      const state = await freezer.state(leaseId)
      if (state !== 'gone') return state
      if ((await readValidNote(leaseFiles(instance, leaseId))) !== undefined) return 'parked'
      // It may have been started since the first look.
      return freezer.state(leaseId)
    },
    async end(leaseId) {
      removeParked(leaseFiles(instance, leaseId))
      await endProcesses(context, leaseId)
    },
    wake: leaseId =>
      ifParked(leaseId, async (files, { resume, record }) => {
        try {
          await start(context, files, record, ['--resume', JSON.stringify(resume)])
          return true
        } catch (error) {
          log.error({ err: error, leaseId }, 'a parked sandbox could not be started and is lost')
          await endProcesses(context, leaseId)
          return false
        } finally {
          removeParked(files)
        }
      }),
  }
}

/** Starts a supervisor at the files of a lease that has no process, in the same way as the one before. */
async function start(
  context: DriverContext,
  files: LeaseFiles,
  { uid, bounds, command }: LeaseRecord,
  further: readonly string[],
): Promise<void> {
  const { host, cgroups, filterPath, instance, noUserNamespaces } = context
  const { privileged, bwrapPath } = host
  const group = groupOf(files)
  if (group === undefined) throw new Error(`the directory of sandbox ${files.leaseId} is damaged`)
  const options = await currentOptions(context, files)
  // Before the mark goes, by which a further try would find the former paths.
  writeOptions(files.host, options)
  for (const name of [hostNames.mark, hostNames.stopped, `${hostNames.socket}.new`])
    rmSync(join(files.host, name), { force: true })
  const joinFiles = (await cgroups?.ensure(group, bounds)) ?? []
  const [{ socket }, namespace] = await allSettled([
    startWaitingShell(files.host, host.shell, joinFiles),
    privileged && noUserNamespaces === undefined ? makeUserNamespace() : undefined,
  ])
  try {
    const spec = { bounds, command: [...command, ...further] }
    const inside = insideCommand({ spec, uid, privileged, rlimits: rlimitsOf(cgroups) })
    const launcher = { bwrapPath, filterPath, userNamespacePath: namespace?.map(uid), tag: instance.tag }
    await launch(socket, { files, options, command: inside, ...bounds }, launcher)
  } finally {
    namespace?.release()
  }
}

/**
 * Returns bubblewrap's options of the last launch: a sandbox that was made before its lease had other paths, and programs of
 * the platform may have come with another release since.
 */
async function currentOptions(context: DriverContext, files: LeaseFiles): Promise<readonly string[]> {
  const { closedNode, instance, options } = context
  const former = join(instance.blanksDir, markOf(files), '/')
  const programs = new Map<string | undefined, string>([
    [insidePaths.node, options.nodePath],
    [insidePaths.closedNode, await closedNode.path()],
    [insidePaths.bundles, options.bundlesDir],
  ])
  const args = readFileSync(join(files.host, hostNames.arguments), 'utf8').split('\0')
  return args.map((word, index) => {
    const program = args[index - 1] === '--ro-bind' ? programs.get(args[index + 1]) : undefined
    return program ?? (word.startsWith(former) ? join(files.dir, word.slice(former.length)) : word)
  })
}
