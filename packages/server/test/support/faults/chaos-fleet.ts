import { randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run, Session } from '@berth/contract'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts'
import { migrate } from '../../../src/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '../../../src/storage/postgres/pool.ts'
import { scriptedRuntimes } from '../agents/scripted-runtimes.ts'
import { type Answer, Api } from '../api/api.ts'
import { createTenant } from '../api/tenant.ts'
import { type EndedRun, endedRun } from '../runs/ended-run.ts'
import { silentLog } from '../services/log.ts'
import { databaseUrl } from '../services/service.ts'
import { type ServiceProcess, startServiceProcess } from '../services/service-process.ts'
import { until } from '../until.ts'
import { signalSandbox } from '../workspaces/sandbox-processes.ts'
import { destroySandboxes } from './destroy-sandboxes.ts'

const settings = {
  BERTH_FENCE_SECONDS: '1',
  BERTH_LEASE_IDLE_SECONDS: '3',
  BERTH_MAX_HANDOVERS: '1000',
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
}

/** Deadline of any operation while parts of the service are away now and then. */
const PATIENCE_MS = 180_000

const kinds = ['api', 'worker', 'worker', 'database', 'sandbox', 'sandbox', 'sandbox'] as const
type Kind = (typeof kinds)[number]

/** A process that the chaos run kills and starts again. */
class Restartable {
  readonly dataDir: string
  readonly #variables: Readonly<Record<string, string>>
  #running: ServiceProcess | null = null

  constructor(dataDir: string, variables: Readonly<Record<string, string>>) {
    this.dataDir = dataDir
    this.#variables = { ...variables, BERTH_DATA_DIR: dataDir }
  }

  get url(): string {
    return this.#running?.url ?? 'http://127.0.0.1:9'
  }

  /** Tries again and again: the database may be away. */
  async start(): Promise<void> {
    const started = () => startServiceProcess(this.#variables).catch(() => false as const)
    this.#running = await until('a process', started, PATIENCE_MS)
  }

  async kill(): Promise<void> {
    await this.#running?.kill('SIGKILL')
    this.#running = null
  }
}

/** Runs the API, two workers with a host each, their database and the sandboxes, and kills them at random. */
export class Fleet implements AsyncDisposable {
  readonly kills: Record<Kind, number> = { api: 0, worker: 0, database: 0, sandbox: 0 }
  readonly db: PooledDatabase
  readonly #postgres: EmbeddedPostgres
  readonly #front: Restartable
  readonly #hosts: readonly Restartable[]
  readonly #apiKey: string
  readonly #opened: AsyncDisposableStack

  static async open(): Promise<Fleet> {
    await using stack = new AsyncDisposableStack()
    const directory = await mkdtemp(join(tmpdir(), 'berth-chaos-'))
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const postgres = stack.use(await startEmbeddedPostgres({ dataDir: join(directory, 'database'), log: silentLog }))
    const db = stack.use(openDatabase({ connection: postgres.administration, log: silentLog }))
    await migrate(db)
    const { apiKey } = await createTenant(db)
    const { runtimes } = stack.use(await scriptedRuntimes())
    const config = join(directory, 'berth.json')
    await writeFile(config, JSON.stringify({ runtimes: runtimes.filter(({ id }) => id === 'remembering') }))
    const shared = {
      ...settings,
      DATABASE_URL: databaseUrl(postgres),
      BERTH_MIGRATION_URL: databaseUrl({ connection: postgres.administration }),
      BERTH_BLOBS: `file:${join(directory, 'blobs')}`,
      BERTH_MASTER_KEY: randomBytes(32).toString('hex'),
      BERTH_CONFIG: config,
    }
    const placed = (name: string, role: string) =>
      new Restartable(join(directory, name), { ...shared, BERTH_ROLES: role })
    const front = placed('api', 'api')
    const hosts = [placed('host-1', 'worker'), placed('host-2', 'worker')]
    for (const { dataDir } of hosts) stack.defer(() => destroySandboxes(dataDir))
    for (const each of [front, ...hosts]) {
      stack.defer(() => each.kill())
      await each.start()
    }
    return new Fleet({ db, postgres, front, hosts, apiKey, opened: stack.move() })
  }

  private constructor(parts: {
    db: PooledDatabase
    postgres: EmbeddedPostgres
    front: Restartable
    hosts: readonly Restartable[]
    apiKey: string
    opened: AsyncDisposableStack
  }) {
    this.db = parts.db
    this.#postgres = parts.postgres
    this.#front = parts.front
    this.#hosts = parts.hosts
    this.#apiKey = parts.apiKey
    this.#opened = parts.opened
  }

  get api(): Api {
    return new Api(this.#front.url, this.#apiKey)
  }

  /** Returns a client with another credential. */
  as(credential: string): Api {
    return new Api(this.#front.url, credential)
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

  async killAround(everyMs: number, storm: AbortSignal): Promise<void> {
    while (!storm.aborted) {
      await sleep(randomInt(2 * everyMs), undefined, { signal: storm }).catch(() => undefined)
      if (storm.aborted) return
      const kind = kinds[randomInt(kinds.length)] ?? 'sandbox'
      if (await this.#kill(kind)) this.kills[kind] += 1
    }
  }

  async proveNoStrays(): Promise<void> {
    await until('a lease for every sandbox', async () => {
      const { rows } = await this.db.query<{ id: string }>('select id from leases where ended_at is null')
      const leased = new Set(rows.map(({ id }) => id))
      const sandboxes = await Promise.all(this.#hosts.map(({ dataDir }) => readdir(join(dataDir, 'leases'))))
      return sandboxes.flat().every(id => leased.has(id))
    })
  }

  /** Returns true if there was something to kill. */
  async #kill(kind: Kind): Promise<boolean> {
    const host = this.#hosts[randomInt(this.#hosts.length)]
    if (host === undefined) return false
    if (kind === 'api' || kind === 'worker') {
      const struck = kind === 'api' ? this.#front : host
      await struck.kill()
      await struck.start()
      return true
    }
    try {
      if (kind === 'database') process.kill(this.#postgres.pid, 'SIGKILL')
      else {
        const leases = await readdir(join(host.dataDir, 'leases'))
        await signalSandbox(host.dataDir, leases[randomInt(Math.max(1, leases.length))] ?? '', 'SIGKILL')
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

/** Only an invalid log is an error here; a service that was killed while it was read is not. */
function rethrowInvalidLog(error: unknown): false {
  if (error instanceof Error && error.message.startsWith('the log breaks an invariant')) throw error
  return false
}
