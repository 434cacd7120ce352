import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../kit/start-error.ts'
import { postgresCommand, postgresEnvironment } from './command.ts'
import { waitToLockFile } from './file-lock.ts'
import type { Layout } from './layout.ts'
import { isRunning, readProcessStat } from './process-stat.ts'
import { failureIn, logSize, openLog } from './server-log.ts'

/** Time that an earlier service's server may take to end, or a zombie to be reaped. */
const leftoverWaitMs = 10_000
/** Far more than recovery takes: after a crash it replays at most the log between two checkpoints. */
const readyWaitMs = 300_000

const baseParameters: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  io_method: 'sync',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
}

/** A server that has accepted connections; it may have ended since. */
export interface Postmaster {
  readonly pid: number
  /** Resolves with the manner in which the server ended. Never rejects. */
  readonly ended: Promise<string>
  signal(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void
}

/**
 * Starts the server and waits until it accepts connections. The caller holds the service lock.
 * @throws StartError with the server's own reason, or if an earlier server does not end
 */
export async function launchPostmaster(
  layout: Layout,
  parameters: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Postmaster> {
  const lock = await takeServerLock(layout, signal)
  const logOffset = logSize(layout.logFile)
  let child: ChildProcess
  try {
    clearStaleFiles(layout)
    child = spawnServer(layout, parameters, lock)
  } finally {
    // The server's copy keeps the lock until its last process has ended.
    closeSync(lock)
  }
  const ended = new Promise<string>(resolve => {
    child.once('error', error => resolve(`it cannot be started: ${error.message}`))
    child.once('exit', (code, by) => resolve(by === null ? `exit status ${code}` : `signal ${by}`))
  })
  child.unref()
  const postmaster: Postmaster = { pid: child.pid ?? 0, ended, signal: name => void child.kill(name) }
  await untilReady(layout, postmaster, logOffset, signal)
  return postmaster
}

function spawnServer(layout: Layout, parameters: Readonly<Record<string, string>>, lock: number): ChildProcess {
  const log = openLog(layout.logFile)
  try {
    const command = postgresCommand(layout, layout.data, 'INT', view => [
      `${view.bin}/postgres`,
      '-D',
      view.data,
      ...Object.entries({ ...baseParameters, unix_socket_directories: view.socket, ...parameters }).flatMap(
        ([name, value]) => ['-c', `${name}=${value}`],
      ),
    ])
    // Detached: an interrupt typed at the service's terminal must not end the database before the service has drained.
    return spawn(command.file, command.args, {
      env: postgresEnvironment,
      cwd: '/',
      detached: true,
      stdio: ['ignore', log, log, lock],
    })
  } finally {
    closeSync(log)
  }
}

async function untilReady(
  layout: Layout,
  postmaster: Postmaster,
  logOffset: number,
  signal: AbortSignal,
): Promise<void> {
  let end: string | undefined
  void postmaster.ended.then(how => {
    end = how
  })
  const deadline = performance.now() + readyWaitMs
  while (end === undefined) {
    const file = readPostmasterFile(layout.data)
    if (file?.ready === true && file.pid === postmaster.pid) return
    if (signal.aborted || performance.now() > deadline) {
      postmaster.signal('SIGINT')
      await postmaster.ended
      signal.throwIfAborted()
      break
    }
    await sleep(5)
  }
  const reason = await failureIn(layout.logFile, logOffset)
  throw new StartError(`the embedded PostgreSQL did not start (${end ?? 'not ready in time'}): ${reason}`)
}

/**
 * Takes the lock that is free once no process of an earlier server is left. This service holds the service lock, so any
 * such process is an orphan. The death signal usually ends it; if not, this function asks it to end and waits.
 */
async function takeServerLock(layout: Layout, signal: AbortSignal): Promise<number> {
  const free = await waitToLockFile(layout.serverLock, 0, signal)
  if (free !== undefined) return free
  const pid = servingPid(layout)
  if (pid !== undefined) process.kill(pid, 'SIGINT')
  const freed = await waitToLockFile(layout.serverLock, leftoverWaitMs, signal)
  if (freed !== undefined) return freed
  throw new StartError(`data directory in use by PID ${servingPid(layout) ?? 'unknown'}: ${layout.data}`)
}

/**
 * Returns the pid of the postmaster that works on this data directory, whoever started it. Every PostgreSQL process has
 * its data directory as its working directory.
 */
function servingPid(layout: Layout): number | undefined {
  const pid = readPostmasterFile(layout.data)?.pid
  if (pid === undefined || !isRunning(pid)) return undefined
  const own = statSync(layout.data)
  const cwd = statSync(`/proc/${pid}/cwd`, { throwIfNoEntry: false })
  return cwd?.ino === own.ino && cwd.dev === own.dev ? pid : undefined
}

/**
 * Removes the files of a killed server that would stop the next one. PostgreSQL takes its lock files for valid while
 * their pid exists, even if it belongs to an unreaped zombie or was reused. This service holds the server lock, so no
 * server that Berth started is left; one that an operator started by hand is refused here.
 */
function clearStaleFiles(layout: Layout): void {
  const serving = servingPid(layout)
  if (serving !== undefined) throw new StartError(`data directory in use by PID ${serving}: ${layout.data}`)
  rmSync(join(layout.socket, '.s.PGSQL.5432'), { force: true })
  rmSync(join(layout.socket, '.s.PGSQL.5432.lock'), { force: true })
  const stale = readPostmasterFile(layout.data)
  // If the pid is gone, PostgreSQL removes the file itself and also looks for shared memory in use.
  if (stale !== undefined && readProcessStat(stale.pid) !== undefined) rmSync(join(layout.data, 'postmaster.pid'))
}

/** Reads pid and status from `postmaster.pid`; returns undefined if there is no such file. */
function readPostmasterFile(data: string): { pid: number; ready: boolean } | undefined {
  let lines: string[]
  try {
    lines = readFileSync(join(data, 'postmaster.pid'), 'latin1').split('\n')
  } catch {
    return undefined
  }
  const pid = Number(lines[0])
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined
}
