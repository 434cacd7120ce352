import { spawn } from 'node:child_process'
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../kit/start-error.ts'
import { isRunning, readProcessStat } from './process-stat.ts'

/**
 * Opens a file and takes an exclusive flock(2) on it; returns undefined if another process holds it.
 *
 * Node has no flock, so flock(1) takes it on a descriptor that it shares with this process. The lock belongs to the
 * open file description: it outlives the helper and ends with the description's last descriptor. The kernel closes the
 * descriptors even of a killed process, and a zombie holds none.
 */
export async function tryLockFile(path: string): Promise<number | undefined> {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  let exitCode: number | null
  try {
    exitCode = await new Promise((resolve, reject) => {
      spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
        .once('error', reject)
        .once('exit', resolve)
    })
  } catch (error) {
    closeSync(descriptor)
    throw new StartError('flock(1) cannot be started: install util-linux', { cause: error })
  }
  if (exitCode === 0) return descriptor
  closeSync(descriptor)
  if (exitCode === 1) return undefined
  throw new StartError(`${path} cannot be locked: its file system does not support flock`)
}

/** Waits for a lock that its holder is about to release; returns undefined when the time is over. */
export async function waitToLockFile(path: string, waitMs: number, signal?: AbortSignal): Promise<number | undefined> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const descriptor = await tryLockFile(path)
    if (descriptor !== undefined || performance.now() >= deadline) return descriptor
    await sleep(25, undefined, signal === undefined ? {} : { signal })
  }
}

/** A lock whose file holds the pid of its holder. */
export interface OwnedLock {
  /** Releases the lock. Idempotent. */
  release(): void
}

/**
 * Takes the lock for this process, or refuses and names the holder's pid. It waits for a holder that has just died or
 * has not yet written its pid.
 * @throws StartError `data directory in use by PID n`
 */
export async function lockForProcess(path: string, directory: string): Promise<OwnedLock> {
  const deadline = performance.now() + 2_000
  for (;;) {
    const descriptor = await tryLockFile(path)
    if (descriptor !== undefined) return own(descriptor)
    const holder = readHolder(path)
    const last = performance.now() >= deadline
    if (holder !== undefined && (last || isRunning(holder.pid, holder.startTicks))) {
      throw new StartError(`data directory in use by PID ${holder.pid}: ${directory}`)
    }
    if (last) throw new StartError(`data directory in use by another process: ${directory}`)
    await sleep(25)
  }
}

function own(descriptor: number): OwnedLock {
  let held = true
  const release = (): void => {
    if (held) closeSync(descriptor)
    held = false
  }
  try {
    ftruncateSync(descriptor, 0)
    writeSync(descriptor, `${process.pid} ${readProcessStat(process.pid)?.startTicks ?? 0}\n`, 0)
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

function readHolder(path: string): { pid: number; startTicks: number } | undefined {
  const [pid, startTicks] = readFileSync(path, 'latin1').trim().split(' ').map(Number)
  if (pid === undefined || startTicks === undefined || !Number.isSafeInteger(pid) || pid <= 0) return undefined
  return { pid, startTicks }
}
