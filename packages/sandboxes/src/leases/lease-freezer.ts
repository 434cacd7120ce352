import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { SandboxGoneError } from '../driver.ts'
import type { FreezeState } from '../linux/cgroup-freezer.ts'
import type { Instance } from '../linux/instance.ts'
import { waitUntil } from '../linux/wait-until.ts'
import { attachToSupervisor } from './attach.ts'
import { hostNames, type LeaseFiles, leaseFiles } from './lease-files.ts'
import {
  descendants,
  type ProcessTree,
  readProcessTree,
  type SandboxProcess,
  signalProcess,
  ticksSinceBoot,
} from './process-tree.ts'

/** Maximum duration of one attempt to stop all processes by signals. The sweeper makes the next attempt. */
const STOPPING_MS = 500
/**
 * Time allowed for killed processes to end. With the freezer of cgroup version 1 they end only when thawed, so there
 * this expires.
 */
const ENDING_MS = 1000

/**
 * Freezes and thaws the processes of leases. Every method is idempotent, and any process of the service may call it.
 */
export interface LeaseFreezer {
  /** Asks for the stop. Most processes have stopped when this resolves; `state` tells when all have. */
  freeze(leaseId: string): Promise<void>
  /** @returns whether the lease had been asked to stop */
  thaw(leaseId: string): Promise<boolean>
  state(leaseId: string): Promise<FreezeState>
  /**
   * Kills the processes that started since the last thaw and whose parents have ended, with their descendants. Older
   * orphans keep running, with everything they start. The lease should be frozen: frozen processes cannot outrun this
   * by forking.
   */
  endOrphans(leaseId: string): Promise<void>
  /** Makes `endOrphans` spare the processes that run now, as a thaw does. */
  keepOrphans(leaseId: string): Promise<void>
}

/** The kernel's freezer for the sandboxes of a driver. */
export interface LeaseGroups {
  freeze(files: LeaseFiles): void
  /** @returns whether the sandbox had been asked to stop */
  thaw(files: LeaseFiles): boolean
  state(files: LeaseFiles): FreezeState
}

/** How a driver finds the processes of its sandboxes. */
export interface LeaseProcesses {
  readonly instance: Instance
  /** Absent: without a freezer of the kernel, processes are stopped by signals. */
  readonly groups: LeaseGroups | undefined
  /** Returns the first process of a sandbox's pid namespace; undefined if it has ended. */
  first(files: LeaseFiles): Promise<number | undefined>
}

/** Opens the freezer: the kernel's if this host has one, which stops the supervisor too; else by signals. */
export function openLeaseFreezer(processes: LeaseProcesses): LeaseFreezer {
  const filesOf = (leaseId: string) => leaseFiles(processes.instance, leaseId)
  const treeOf = async (files: LeaseFiles) => {
    const first = await processes.first(files)
    return first === undefined ? undefined : readProcessTree(first)
  }
  const method = processes.groups === undefined ? bySignals(treeOf) : byGroups(processes.groups)
  return {
    freeze: leaseId => method.freeze(filesOf(leaseId)),
    async thaw(leaseId) {
      const files = filesOf(leaseId)
      // Note the time before thawing, so that later processes are younger.
      if (['frozen', 'freezing'].includes(await method.state(files))) await noteThaw(files)
      return method.thaw(files)
    },
    async state(leaseId) {
      const files = filesOf(leaseId)
      const state = await method.state(files)
      // A frozen supervisor accepts nothing, and waiting connections would fill its queue.
      return state === 'running' && (await isDead(files)) ? 'gone' : state
    },
    async endOrphans(leaseId) {
      const since = lastThaw(filesOf(leaseId))
      await waitUntil(async () => {
        const orphans = await orphansOf(await treeOf(filesOf(leaseId)), since)
        for (const orphan of orphans) await signalProcess(orphan, 'SIGKILL')
        return orphans.length === 0
      }, ENDING_MS)
    },
    async keepOrphans(leaseId) {
      const files = filesOf(leaseId)
      if (await isDead(files)) throw new SandboxGoneError(`sandbox ${leaseId} is gone`)
      await noteThaw(files)
    },
  }
}

interface FreezeMethod {
  freeze(files: LeaseFiles): Promise<void>
  thaw(files: LeaseFiles): Promise<boolean>
  state(files: LeaseFiles): Promise<FreezeState>
}

const byGroups = (groups: LeaseGroups): FreezeMethod => ({
  freeze: async files => groups.freeze(files),
  thaw: async files => groups.thaw(files),
  state: async files => groups.state(files),
})

type TreeOf = (files: LeaseFiles) => Promise<ProcessTree | undefined>

/**
 * Freezes by signals that the supervisor sends to all other processes. The kernel keeps no trace of this, so a file
 * beside the supervisor's socket does. The file exists before the first process stops, and until the last one resumes.
 */
function bySignals(treeOf: TreeOf): FreezeMethod {
  const path = (files: LeaseFiles) => join(files.host, hostNames.stopped)
  const noted = (files: LeaseFiles) => readNote(path(files))
  return {
    async freeze(files) {
      if (noted(files) === 'all' || !writeNote(path(files), 'some')) return
      if (await stopAll(treeOf, files)) writeNote(path(files), 'all')
    },
    async thaw(files) {
      if (noted(files) === undefined) return false
      // A supervisor that answers too late has carried the order out: the next freeze must not find `all`.
      writeNote(path(files), 'some')
      if (await signalAll(files, 'CONT')) rmSync(path(files), { force: true })
      return true
    },
    async state(files) {
      const note = noted(files)
      if (note === undefined) return 'running'
      if (await isDead(files)) return 'gone'
      return note === 'all' ? 'frozen' : 'freezing'
    },
  }
}

/**
 * Sends stop signals until all processes are stopped. When the last process with a parent outside its process group
 * ends, the kernel continues the group's stopped members, so they must be stopped again.
 * @returns whether all are stopped
 */
async function stopAll(treeOf: TreeOf, files: LeaseFiles): Promise<boolean> {
  return waitUntil(async () => {
    if (!(await signalAll(files, 'STOP'))) return false
    const { others = [] } = (await treeOf(files)) ?? {}
    return others.every(({ state }) => /[TtZX]/.test(state))
  }, STOPPING_MS)
}

/**
 * Asks the supervisor to signal all other processes.
 * @returns whether it did; false also if the supervisor is gone
 */
async function signalAll(files: LeaseFiles, all: 'STOP' | 'CONT'): Promise<boolean> {
  const order = `${JSON.stringify({ all })}\n`
  try {
    const signal = AbortSignal.timeout(STOPPING_MS)
    const socket = await attachToSupervisor(files, signal)
    signal.addEventListener('abort', () => socket.destroy(), { once: true })
    socket.end(order)
    return (await text(socket)) === order
  } catch {
    return false
  }
}

function orphansOf(tree: ProcessTree | undefined, since: number): SandboxProcess[] {
  if (tree === undefined) return []
  return (
    tree.others
      .filter(({ parent, startTime }) => parent === tree.first && startTime >= since)
      .flatMap(orphan => [orphan, ...descendants(tree.others, orphan.pid)])
      // An ended process may wait for a frozen parent to reap it.
      .filter(({ state }) => !/[ZX]/.test(state))
  )
}

/** Returns whether the supervisor's socket has no listener any more. */
export async function isDead(files: LeaseFiles): Promise<boolean> {
  try {
    ;(await attachToSupervisor(files)).destroy()
    return false
  } catch (error) {
    if (error instanceof SandboxGoneError) return true
    throw error
  }
}

async function noteThaw(files: LeaseFiles): Promise<void> {
  writeNote(join(files.host, hostNames.thawed), String(await ticksSinceBoot()))
}

/** Returns when the lease was last thawed, in ticks since the boot; 0 if it was never frozen. */
function lastThaw(files: LeaseFiles): number {
  return Number(readNote(join(files.host, hostNames.thawed)) ?? 0)
}

function readNote(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** @returns false if the lease's directory is gone */
function writeNote(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
