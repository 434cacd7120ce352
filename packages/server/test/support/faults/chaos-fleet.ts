import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run, Session } from '@berth/contract'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '../../../src/storage/postgres/pool.ts'
import { scriptedRuntimes } from '../agents/scripted-runtimes.ts'
import { type Answer, Api } from '../api/api.ts'
import { createTenant } from '../api/tenant.ts'
import { HostProgram } from '../hosts/host-program.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import { type EndedRun, endedRun } from '../runs/ended-run.ts'
import { silentLog } from '../services/log.ts'
import { databaseUrl } from '../services/service.ts'
import { type ServiceProcess, startServiceProcess } from '../services/service-process.ts'
import { type S3Server, startS3Server } from '../storage/s3-server.ts'
import { until } from '../until.ts'
import { signalSandbox } from '../workspaces/sandbox-processes.ts'
import { CuttableLine } from './cuttable-line.ts'
import { destroySandboxes } from './destroy-sandboxes.ts'

const FENCE_SECONDS = 1

const settings = {
  BERTH_FENCE_SECONDS: String(FENCE_SECONDS),
  BERTH_LEASE_IDLE_SECONDS: '3',
  BERTH_MAX_HANDOVERS: '1000',
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
  // A kill meets sandboxes that stand ready too.
  BERTH_POOL_MOST: '1',
}

/**
 * Deadline of any operation while parts of the service are away now and then. On a busy machine each start of a process takes
 * half a minute, and a Run may meet several.
 */
export const PATIENCE_MS = 420_000

/** What is done at random. */
export const faults = [
  'api',
  'worker',
  'machine',
  'line',
  'database',
  'sandbox',
  'frozen',
  'store',
  'full',
  'clock',
] as const
export type Fault = (typeof faults)[number]

const HOUR_MS = 60 * 60_000
const clockOffset = new URL('clock-offset.ts', import.meta.url).href

/** The processes of a chaos run, besides its database and its bucket. */
export interface FleetSize {
  readonly apis: number
  /** Each with a host of its own. */
  readonly workers: number
  /** Workers that have no host but those that dial. */
  readonly takers: number
  /** Machines that dial any of the takers, each over a line of its own. */
  readonly machines: number
}

/** A machine that dials in. */
interface Machine {
  readonly program: HostProgram
  readonly line: CuttableLine
}

/** A process that the chaos run kills and starts again. */
class Restartable {
  readonly dataDir: string
  readonly #variables: Readonly<Record<string, string>>
  #running: ServiceProcess | null = null
  #clockOffsetMs = 0

  constructor(dataDir: string, variables: Readonly<Record<string, string>>) {
    this.dataDir = dataDir
    this.#variables = { ...variables, BERTH_DATA_DIR: dataDir }
  }

  get url(): string {
    return this.#running?.url ?? 'http://127.0.0.1:9'
  }

  /** Tries again and again: the database may be away. */
  async start(): Promise<void> {
    const clock = {
      NODE_OPTIONS: `--import=${clockOffset}`,
      CLOCK_OFFSET_MS: String(this.#clockOffsetMs),
    }
    const variables = { ...this.#variables, ...(this.#clockOffsetMs !== 0 && clock) }
    const started = () => startServiceProcess(variables).catch(() => false as const)
    this.#running = await until('a process', started, PATIENCE_MS)
  }

  async kill(): Promise<void> {
    await this.#running?.kill('SIGKILL')
    this.#running = null
  }

  /** Kills it, and starts it with a clock that is wrong by so much. */
  async restartAt(clockOffsetMs: number): Promise<void> {
    await this.kill()
    this.#clockOffsetMs = clockOffsetMs
    await this.start()
  }

  /** Stops it for a time, after which it goes on in the belief that none has passed. */
  async freeze(ms: number): Promise<void> {
    const pid = this.#running?.pid
    if (pid === undefined) return
    process.kill(pid, 'SIGSTOP')
    await sleep(ms)
    process.kill(pid, 'SIGCONT')
  }
}

/**
 * Runs APIs, workers with a host each, machines that dial other workers, their database, their bucket and the sandboxes. It
 * kills and freezes them at random, cuts the machines' lines, takes the bucket away or lets it be full, and sets clocks of
 * processes wrong by up to an hour.
 */
export class Fleet implements AsyncDisposable {
  readonly struck: Partial<Record<Fault, number>> = {}
  readonly db: PooledDatabase
  readonly #postgres: EmbeddedPostgres
  readonly #bucket: S3Server
  readonly #fronts: readonly Restartable[]
  readonly #hosts: readonly Restartable[]
  readonly #takers: readonly Restartable[]
  readonly #machines: readonly Machine[]
  readonly #apiKey: string
  readonly #opened: AsyncDisposableStack

  static async open({ apis, workers, takers, machines }: FleetSize): Promise<Fleet> {
    await using stack = new AsyncDisposableStack()
    const directory = await runDirectory('chaos')
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const postgres = stack.use(await startEmbeddedPostgres({ dataDir: join(directory, 'database'), log: silentLog }))
    const db = stack.use(openDatabase({ connection: postgres.administration, log: silentLog }))
    await migrate(db)
    const { apiKey } = await createTenant(db)
    const { runtimes } = stack.use(await scriptedRuntimes())
    const bucket = stack.use(await startS3Server())
    const { endpoint = '', region, keys, ...place } = bucket.location()
    const config = join(directory, 'berth.json')
    await writeFile(config, JSON.stringify({ runtimes: runtimes.filter(({ id }) => id === 'remembering') }))
    const shared = {
      ...settings,
      DATABASE_URL: databaseUrl(postgres),
      BERTH_MIGRATION_URL: databaseUrl({ connection: postgres.administration }),
      BERTH_BLOBS: `s3://${place.bucket}/${place.prefix}`,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: keys?.accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: keys?.secretAccessKey ?? '',
      BERTH_MASTER_KEY: randomBytes(32).toString('hex'),
      BERTH_CONFIG: config,
    }
    const placed = (name: string, role: string, more: Readonly<Record<string, string>> = {}) =>
      new Restartable(join(directory, name), { ...shared, BERTH_ROLES: role, ...more })
    const named = (name: string, count: number, role: string) =>
      Array.from({ length: count }, (_, n) => placed(`${name}-${n + 1}`, role))
    const fronts = named('api', apis, 'api')
    const hosts = named('host', workers, 'worker')
    const ports = await freePorts(takers)
    const taking = ports.map((port, n) =>
      placed(`taker-${n + 1}`, 'worker', { BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: String(port) }),
    )
    for (const { dataDir } of hosts) stack.defer(() => destroySandboxes(dataDir))
    for (const each of [...fronts, ...hosts, ...taking]) {
      stack.defer(() => each.kill())
      await each.start()
    }
    const dialled: Machine[] = []
    for (let n = 0; n < machines; n += 1) {
      const line = stack.use(await CuttableLine.to(() => oneOf(ports)))
      const program = stack.use(await HostProgram.at(db, line.url, { BERTH_CONFIG: config }))
      program.start()
      dialled.push({ program, line })
    }
    const held = 'select from hosts where connected_to is not null and token_sha256 is not null'
    await until('the machines', async () => (await db.query(held)).rowCount === machines, PATIENCE_MS)
    return new Fleet({
      ...{ db, postgres, bucket, fronts, hosts, apiKey },
      ...{ takers: taking, machines: dialled, opened: stack.move() },
    })
  }

  private constructor(parts: {
    db: PooledDatabase
    postgres: EmbeddedPostgres
    bucket: S3Server
    fronts: readonly Restartable[]
    hosts: readonly Restartable[]
    takers: readonly Restartable[]
    machines: readonly Machine[]
    apiKey: string
    opened: AsyncDisposableStack
  }) {
    this.db = parts.db
    this.#postgres = parts.postgres
    this.#bucket = parts.bucket
    this.#fronts = parts.fronts
    this.#hosts = parts.hosts
    this.#takers = parts.takers
    this.#machines = parts.machines
    this.#apiKey = parts.apiKey
    this.#opened = parts.opened
  }

  get api(): Api {
    return new Api(oneOf(this.#fronts).url, this.#apiKey)
  }

  /** Returns a client with another credential. */
  as(credential: string): Api {
    return new Api(oneOf(this.#fronts).url, credential)
  }

  /** Repeats a request until the service answers something other than that a part is away. */
  ask<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    const look = async () => {
      const answer = await this.api.call<Body>(method, path, body).catch(() => undefined)
      return answer !== undefined && answer.status < 500 && answer
    }
    return until(`an answer to ${method} ${path}`, look, PATIENCE_MS)
  }

  async run(session: Session, runId: string): Promise<Run> {
    return (await this.ask<{ run: Run }>('GET', `/v1/sessions/${session.id}/runs/${runId}`)).body.run
  }

  ended(session: Session, runId: string): Promise<EndedRun> {
    return until(
      `the end of run ${runId}`,
      // The service may die while the log is read; then the log is read again.
      async () =>
        (await this.run(session, runId)).endedAt !== undefined &&
        endedRun(this.api, session, runId).catch(rethrowInvalidLog),
      PATIENCE_MS,
    )
  }

  async strike(chosen: readonly Fault[], everyMs: number, storm: AbortSignal): Promise<void> {
    while (!storm.aborted) {
      await sleep(randomInt(2 * everyMs), undefined, { signal: storm }).catch(() => undefined)
      if (storm.aborted) return
      const kind = oneOf(chosen)
      if (await this.#strike(kind)) this.struck[kind] = (this.struck[kind] ?? 0) + 1
    }
  }

  async proveNoStrays(): Promise<void> {
    await until('a lease for every sandbox', async () => {
      const { rows } = await this.db.query<{ id: string }>('select id from leases where ended_at is null')
      const leased = new Set(rows.map(({ id }) => id))
      const sandboxes = await Promise.all(this.#places.map(dataDir => readdir(join(dataDir, 'leases'))))
      return sandboxes.flat().every(id => leased.has(id))
    })
  }

  /** The data directories that hold sandboxes. */
  get #places(): readonly string[] {
    return [...this.#hosts.map(({ dataDir }) => dataDir), ...this.#machines.map(({ program }) => program.dataDir)]
  }

  /** Returns true if there was something to kill. */
  async #strike(kind: Fault): Promise<boolean> {
    const processes = [...this.#fronts, ...this.#hosts, ...this.#takers]
    if (kind === 'api' || kind === 'worker') {
      await oneOf(kind === 'api' ? this.#fronts : [...this.#hosts, ...this.#takers]).restartAt(0)
      return true
    }
    if (kind === 'clock') {
      await oneOf(processes).restartAt(randomInt(-HOUR_MS, HOUR_MS))
      return true
    }
    if (kind === 'frozen') {
      // Both shorter and longer than others wait before they take over.
      const ms = randomInt(4 * FENCE_SECONDS * 1000)
      const frozen = randomInt(processes.length + this.#machines.length)
      const machine = this.#machines[frozen - processes.length]
      if (machine === undefined) await processes[frozen]?.freeze(ms)
      else {
        machine.program.signal('SIGSTOP')
        await sleep(ms)
        machine.program.signal('SIGCONT')
      }
      return true
    }
    if (kind === 'machine' || kind === 'line') {
      if (this.#machines.length === 0) return false
      const { program, line } = oneOf(this.#machines)
      if (kind === 'line') await line.cut(randomInt(3_000))
      else {
        await program.stop('SIGKILL')
        program.start()
      }
      return true
    }
    if (kind === 'full') {
      this.#bucket.fault = ({ method }) =>
        method === 'PUT' || method === 'POST' ? { kind: 'answer', status: 507, code: 'InsufficientStorage' } : undefined
      await sleep(randomInt(2_000))
      this.#bucket.fault = () => undefined
      return true
    }
    if (kind === 'store') {
      await this.#bucket.stop()
      await sleep(randomInt(2_000))
      await this.#bucket.resume()
      return true
    }
    try {
      if (kind === 'database') process.kill(this.#postgres.pid, 'SIGKILL')
      else {
        const dataDir = oneOf(this.#places)
        const leases = await readdir(join(dataDir, 'leases'))
        await signalSandbox(dataDir, leases[randomInt(Math.max(1, leases.length))] ?? '', 'SIGKILL')
      }
      return true
    } catch {
      return false
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync()
  }
}

/** Ports that a process may take again and again; nobody else takes them meanwhile, as far as one can know. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return ports
}

function oneOf<Each>(all: readonly Each[]): Each {
  const one = all[randomInt(all.length)]
  if (one === undefined) throw new Error('there is nothing to choose from')
  return one
}

/** Only an invalid log is an error here; a service that was killed while it was read is not. */
function rethrowInvalidLog(error: unknown): false {
  if (error instanceof Error && error.message.startsWith('the log breaks an invariant')) throw error
  return false
}
