import { closeSync, constants, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../../kit/backoff.ts'
import type { Log } from '../../kit/log.ts'
import { toStartError } from '../../kit/start-error.ts'
import { openDatabase } from '../postgres/pool.ts'
import { lockForProcess, type OwnedLock } from './file-lock.ts'
import { requireFreeSpace } from './free-space.ts'
import { ensureDataDirectory, serviceRole, superuser } from './initialize.ts'
import { type Layout, prepareLayout } from './layout.ts'
import { launchPostmaster, type Postmaster } from './postmaster.ts'
import { rotateLog } from './server-log.ts'

/** Address of the embedded PostgreSQL for clients in this process. */
export interface EmbeddedConnection {
  /** Directory of the socket: its real path or, if that is too long, a path through a descriptor of this process. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

/** A running embedded PostgreSQL. It restarts when it dies, and ends with this process, however that ends. */
export interface EmbeddedPostgres extends AsyncDisposable {
  readonly connection: EmbeddedConnection
  /** Connects as the superuser, for migrations and tests. */
  readonly administration: EmbeddedConnection
  /** Pid of the current server; a restart changes it. */
  readonly pid: number
  /** Stops the server cleanly and frees the data directory. Idempotent. */
  stop(): Promise<void>
}

/** Options of {@link startEmbeddedPostgres}. */
export interface EmbeddedPostgresOptions {
  /** The service's data directory; the database lives in `postgres` below it. */
  readonly dataDir: string
  readonly log: Log
  /** Server parameters that override the built-in ones, for tests that trade durability for speed. */
  readonly parameters?: Readonly<Record<string, string>>
}

const rotateEveryMs = 60_000
const steadyAfterMs = 60_000
const longestBackoffMs = 5_000
const stopPatienceMs = 10_000
/** Longest socket path that connect(2) takes, without its final NUL. */
const longestSocketPath = 107

/**
 * Starts PostgreSQL from the npm package's binaries and makes the data directory at the first start. The server listens
 * on a unix socket only.
 * @throws StartError if the directory is in use, the disk is full, or PostgreSQL refuses to start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir)
  let lock: OwnedLock | undefined
  try {
    const layout = prepareLayout(dataDir)
    lock = await lockForProcess(layout.serviceLock, dataDir)
    await requireFreeSpace(layout.directory)
    await ensureDataDirectory(layout)
    rotateLog(layout.logFile)
    const server = await SupervisedPostgres.start(layout, lock, options)
    try {
      await ensureServiceRole(server.administration, options.log)
    } catch (error) {
      await server.stop()
      throw error
    }
    return server
  } catch (error) {
    lock?.release()
    throw toStartError(error, `the embedded PostgreSQL cannot be started in ${dataDir}`)
  }
}

/**
 * Returns the address of the embedded PostgreSQL that a service runs on a data directory. It starts nothing: without a
 * running service, a connection is refused. Two calls for one long path cost two descriptors.
 */
export function embeddedConnection(dataDir: string): EmbeddedConnection {
  const directory = join(resolve(dataDir), 'postgres', 'socket')
  return { host: shortSocketDirectory(directory), port: 5432, user: serviceRole, database: 'postgres' }
}

/**
 * Makes the service's role if it is missing: in a new cluster, and in a cluster of an old release that ran the service
 * as the superuser. `prepareDatabase` grants the role its privileges.
 */
async function ensureServiceRole(connection: EmbeddedConnection, log: Log): Promise<void> {
  await using administration = openDatabase({ connection, log, connections: 1 })
  const { rowCount } = await administration.query('select 1 from pg_roles where rolname = $1', [serviceRole])
  if (rowCount > 0) return
  await administration.query(`create role ${serviceRole} login nosuperuser nocreatedb nocreaterole`)
}

function shortSocketDirectory(directory: string): string {
  if (Buffer.byteLength(join(directory, '.s.PGSQL.5432')) <= longestSocketPath) return directory
  // The descriptor stays open for the life of the process: connections come and go until the end.
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY)
  return `/proc/self/fd/${descriptor}`
}

async function endsWithin(postmaster: Postmaster, milliseconds: number): Promise<boolean> {
  const enough = new AbortController()
  const patience = sleep(milliseconds, false, { signal: enough.signal }).catch(() => true)
  const ended = await Promise.race([postmaster.ended.then(() => true), patience])
  enough.abort()
  return ended
}

class SupervisedPostgres implements EmbeddedPostgres {
  readonly connection: EmbeddedConnection
  readonly administration: EmbeddedConnection
  readonly #layout: Layout
  readonly #lock: OwnedLock
  readonly #options: EmbeddedPostgresOptions
  readonly #stopping = new AbortController()
  readonly #rotation: NodeJS.Timeout
  readonly #supervision: Promise<void>
  #postmaster: Postmaster
  #stopped: Promise<void> | undefined

  static async start(layout: Layout, lock: OwnedLock, options: EmbeddedPostgresOptions): Promise<SupervisedPostgres> {
    const postmaster = await launchPostmaster(layout, options.parameters ?? {}, new AbortController().signal)
    return new SupervisedPostgres(layout, lock, options, postmaster)
  }

  private constructor(layout: Layout, lock: OwnedLock, options: EmbeddedPostgresOptions, postmaster: Postmaster) {
    this.connection = embeddedConnection(options.dataDir)
    this.administration = { ...this.connection, user: superuser }
    this.#layout = layout
    this.#lock = lock
    this.#options = options
    this.#postmaster = postmaster
    this.#rotation = setInterval(() => this.#rotate(), rotateEveryMs).unref()
    this.#supervision = this.#supervise()
  }

  get pid(): number {
    return this.#postmaster.pid
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(): Promise<void> {
    clearInterval(this.#rotation)
    this.#stopping.abort()
    await this.#supervision
    // Fast, then immediate, then SIGKILL: none loses a committed row; the last two cost a recovery.
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
      this.#postmaster.signal(signal)
      if (await endsWithin(this.#postmaster, stopPatienceMs)) break
    }
    if (this.connection.host.startsWith('/proc/self/fd/')) {
      closeSync(Number(this.connection.host.slice('/proc/self/fd/'.length)))
    }
    this.#lock.release()
  }

  /** Restarts the server whenever it ends, until it is stopped. Never rejects. */
  async #supervise(): Promise<void> {
    const { signal } = this.#stopping
    const aborted = new Promise<void>(done => signal.addEventListener('abort', () => done(), { once: true }))
    let failures = 0
    for (;;) {
      const begun = performance.now()
      const how = await Promise.race([this.#postmaster.ended, aborted])
      if (signal.aborted) return
      if (performance.now() - begun > steadyAfterMs) failures = 0
      this.#options.log.error({ how }, 'embedded PostgreSQL ended; starting it again')
      while (!(await this.#restart(failures))) {
        if (signal.aborted) return
        failures += 1
      }
      failures += 1
    }
  }

  async #restart(failures: number): Promise<boolean> {
    const { signal } = this.#stopping
    try {
      if (failures > 0) await sleep(backoffMs(failures, 100, longestBackoffMs), undefined, { signal })
      this.#postmaster = await launchPostmaster(this.#layout, this.#options.parameters ?? {}, signal)
      this.#options.log.info({ pid: this.#postmaster.pid }, 'embedded PostgreSQL accepts connections again')
      return true
    } catch (error) {
      if (!signal.aborted) this.#options.log.error({ err: error }, 'embedded PostgreSQL could not be started again')
      return false
    }
  }

  #rotate(): void {
    try {
      rotateLog(this.#layout.logFile)
    } catch (error) {
      this.#options.log.warn({ err: error }, "embedded PostgreSQL's log could not be rotated")
    }
  }
}
