import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SandboxGoneError } from '../../driver.ts'
import type { FreezeState } from '../../linux/cgroup-freezer.ts'
import { errorCode } from '../../linux/errors.ts'
import { waitUntil } from '../../linux/wait-until.ts'
import { attachToSupervisor } from '../attach.ts'
import { hostNames, type LeaseFiles, leaseFiles } from '../files/lease-files.ts'
import { groupOf } from '../launch/blank.ts'
import type { Workshop } from '../launch/workshop.ts'
import { descendants, readProcessTree, type SandboxProcess, signalProcess, ticksSinceBoot } from './process-tree.ts'

/** How long one attempt to stop all processes by signals takes at most. The sweeper makes the next one. */
const STOPPING_MS = 500
/** A killed process of version 1's freezer ends with the thaw only, so this is waited out there. */
const ENDING_MS = 1000

/** Stops the processes of leases, and lets them go on. Every method is idempotent, for any process of the service. */
export interface LeaseFreezer {
  /** Asks for the stop. Most processes have stopped when this resolves; `state` tells when all have. */
  freeze(leaseId: string): Promise<void>
  /** @returns whether the lease had been asked to stop */
  thaw(leaseId: string): Promise<boolean>
  state(leaseId: string): Promise<FreezeState>
  /**
   * Ends what was started since the lease last went on and has left its agent: processes whose parents have ended.
   * Orphans from before that keep running, with all that they start. Only what is frozen cannot fork ahead of it.
   */
  endOrphans(leaseId: string): Promise<void>
}

/** By the kernel's freezer where this host has one, which stops the supervisor too; else by signals. */
export function openLeaseFreezer(workshop: Workshop): LeaseFreezer {
  const filesOf = (leaseId: string) => leaseFiles(workshop.instance, leaseId)
  const { tag } = workshop.instance
  const means = workshop.cgroups?.freezer ? byCgroup(workshop.cgroups.freezer) : bySignals(tag)
  return {
    freeze: leaseId => means.freeze(filesOf(leaseId)),
    async thaw(leaseId) {
      const files = filesOf(leaseId)
      // Ahead of the thaw: what starts behind it is younger.
      if (['frozen', 'freezing'].includes(await means.state(files))) await noteThaw(files)
      return means.thaw(files)
    },
    async state(leaseId) {
      const files = filesOf(leaseId)
      const state = await means.state(files)
      // A frozen supervisor accepts nothing, and connections that wait for it would fill its queue.
      return state === 'running' && (await isDead(files)) ? 'gone' : state
    },
    async endOrphans(leaseId) {
      const since = lastThaw(filesOf(leaseId))
      await waitUntil(async () => {
        const orphans = await findOrphans(tag, leaseId, since)
        for (const orphan of orphans) await signalProcess(orphan, 'SIGKILL')
        return orphans.length === 0
      }, ENDING_MS)
    },
  }
}

interface Means {
  freeze(files: LeaseFiles): Promise<void>
  thaw(files: LeaseFiles): Promise<boolean>
  state(files: LeaseFiles): Promise<FreezeState>
}

function byCgroup(freezer: NonNullable<NonNullable<Workshop['cgroups']>['freezer']>): Means {
  return {
    async freeze(files) {
      const group = groupOf(files)
      if (group !== undefined) freezer.freeze(group)
    },
    async thaw(files) {
      const group = groupOf(files)
      return group !== undefined && freezer.thaw(group)
    },
    async state(files) {
      const group = groupOf(files)
      return group === undefined ? 'gone' : freezer.state(group)
    },
  }
}

/**
 * By signals that the supervisor sends to all others. Nothing of the kernel says afterwards that it did, so a file beside
 * the supervisor's socket does. The file is there before the first process stops and until the last goes on.
 */
function bySignals(tag: string): Means {
  const path = (files: LeaseFiles) => join(files.host, hostNames.stopped)
  const noted = (files: LeaseFiles) => readNote(path(files))
  return {
    async freeze(files) {
      if (noted(files) === 'all' || !writeNote(path(files), 'some')) return
      if (await stopAll(tag, files)) writeNote(path(files), 'all')
    },
    async thaw(files) {
      if (noted(files) === undefined) return false
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
 * Stops all until a look finds them stopped. The kernel continues the stopped members of a process group when the group's
 * last process with a parent outside of it ends; those are stopped again. @returns whether all are stopped
 */
async function stopAll(tag: string, files: LeaseFiles): Promise<boolean> {
  return waitUntil(async () => {
    if (!(await signalAll(files, 'STOP'))) return false
    const { others = [] } = (await readProcessTree(tag, files.leaseId)) ?? {}
    return others.every(({ state }) => /[TtZX]/.test(state))
  }, STOPPING_MS)
}

/** @returns whether the supervisor has sent the signal; false also where it is gone */
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

async function findOrphans(tag: string, leaseId: string, since: number): Promise<SandboxProcess[]> {
  const tree = await readProcessTree(tag, leaseId)
  if (tree === undefined) return []
  return (
    tree.others
      .filter(({ parent, startTime }) => parent === tree.first && startTime >= since)
      .flatMap(orphan => [orphan, ...descendants(tree.others, orphan.pid)])
      // What has ended waits for a parent that may be frozen.
      .filter(({ state }) => !/[ZX]/.test(state))
  )
}

/** Whether nothing listens on the supervisor's socket any more. */
async function isDead(files: LeaseFiles): Promise<boolean> {
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

/** When the lease last went on, in ticks since the boot; 0 where it was never frozen. */
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

/** @returns false where the lease has no directory any more */
function writeNote(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
