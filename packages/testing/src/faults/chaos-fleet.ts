import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run, Session } from '@berth/contract'
import { S3Blobs } from '@berth/platform/storage/blobs/s3-blobs.ts'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { hostNames } from '@berth/sandboxes/leases/lease-files.ts'
import { scriptedRuntimes } from '../agents/scripted-runtimes.ts'
import { type Answer, Api } from '../api/api.ts'
import { createTenant } from '../api/tenant.ts'
import { HostProgram } from '../hosts/host-program.ts'
import { runDirectory } from '../leaks/run-directory.ts'
import { type EndedRun, endedRun } from '../runs/ended-run.ts'
import { freePorts } from '../services/free-ports.ts'
import { silentLog } from '../services/log.ts'
import { databaseUrl } from '../services/service.ts'
import { startS3Server } from '../storage/s3-server.ts'
import { type SeverableDatabase, severable } from '../storage/severable-database.ts'
import { until } from '../until.ts'
import {
  type Fault,
  FENCE_SECONDS,
  type FleetParts,
  type Machine,
  oneOf,
  placesOf,
  processesOf,
  strike,
} from './chaos-faults.ts'
import { startObedientModel } from './chaos-model.ts'
import { makeSource, type RepositorySource } from './chaos-source.ts'
import { stateOf } from './chaos-state.ts'
import { CuttableLine } from './cuttable-line.ts'
import { destroySandboxes } from './destroy-sandboxes.ts'
import { JumpingClock } from './jumping-clock.ts'
import { Restartable } from './restartable.ts'
import { SmallDisk } from './small-disk.ts'

const settings = {
  BERTH_FENCE_SECONDS: String(FENCE_SECONDS),
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
  // A kill meets sandboxes that stand ready too.
  BERTH_POOL_MOST: '1',
}

/** Of two workers one has leases that end amid the faults, and the other one has leases that are parked and woken first. */
const idling = (n: number) => ({ BERTH_LEASE_IDLE_SECONDS: n % 2 === 0 ? '3' : '30' })

/**
 * Deadline of any operation while parts of the service are away now and then. On a busy machine each start of a process takes
 * half a minute, and a Run may meet several.
 */
export const PATIENCE_MS = 420_000

/** Looks for the ends of many Runs would take a core at the usual interval. */
export const POLL_MS = 200

const HOST_DISK_BYTES = 1536 * 1024 ** 2

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

/**
 * Runs APIs, workers with a host each, machines that dial other workers, their database, their bucket and the sandboxes. It
 * kills and freezes them at random, cuts the machines' lines and connections to the database, takes the bucket away or lets it
 * be full, fills the disks of those that hold sandboxes, and sets clocks of processes wrong by up to an hour while they run.
 */
export class Fleet implements AsyncDisposable {
  readonly struck: Partial<Record<Fault, number>> = {}
  readonly db: PooledDatabase
  /** A repository that Sessions may work on. */
  readonly source: RepositorySource
  readonly #parts: FleetParts
  readonly #blobs: S3Blobs
  readonly #apiKey: string
  readonly #opened: AsyncDisposableStack

  static async open({ apis, workers, takers, machines }: FleetSize): Promise<Fleet> {
    await using stack = new AsyncDisposableStack()
    const directory = await runDirectory('chaos')
    stack.defer(() => rm(directory, { recursive: true, force: true }))
    const postgres = stack.use(await startEmbeddedPostgres({ dataDir: join(directory, 'database'), log: silentLog }))
    const db = stack.use(openDatabase({ connection: postgres.administration, log: silentLog }))
    await migrate(db)
    const tenant = await createTenant(db)
    const { runtimes } = stack.use(await scriptedRuntimes())
    const model = stack.use(await startObedientModel())
    const bucket = stack.use(await startS3Server())
    const location = bucket.location()
    const { endpoint = '', region, keys, ...place } = location
    const blobs = stack.use(await S3Blobs.open(location, { spoolDirectory: directory, log: silentLog }))
    const config = join(directory, 'berth.json')
    const remembering = runtimes.filter(({ id }) => id === 'remembering')
    await writeFile(config, JSON.stringify({ runtimes: remembering, ...model.config }), { mode: 0o600 })
    const repositories = join(directory, 'repositories')
    const source = await makeSource(db, tenant, repositories)
    const shared = {
      ...settings,
      BERTH_MIGRATION_URL: databaseUrl({ connection: postgres.administration }),
      BERTH_BLOBS: `s3://${place.bucket}/${place.prefix}`,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: keys?.accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: keys?.secretAccessKey ?? '',
      BERTH_MASTER_KEY: randomBytes(32).toString('hex'),
      BERTH_CONFIG: config,
    }
    const ways: SeverableDatabase[] = []
    const placed = async (name: string, role: string, more: Readonly<Record<string, string>> = {}) => {
      const way = stack.use(await severable(postgres))
      ways.push(way)
      const variables = { ...shared, DATABASE_URL: databaseUrl(way), BERTH_ROLES: role, ...more }
      return new Restartable(join(directory, name), variables, { maxHandovers: 1000, agentIdleMs: 2000 })
    }
    const named = (name: string, count: number, role: string) =>
      Promise.all(Array.from({ length: count }, (_, n) => placed(`${name}-${n + 1}`, role, idling(n))))
    const fronts = await named('api', apis, 'api')
    const hosts = await named('host', workers, 'worker,gateway')
    const ports = await freePorts(takers)
    const taking = await Promise.all(
      ports.map((port, n) =>
        placed(`taker-${n + 1}`, 'worker,gateway', {
          ...{ ...idling(n), BERTH_COMPUTE: 'remote', BERTH_HOSTS_PORT: String(port) },
        }),
      ),
    )
    const disks: SmallDisk[] = []
    const diskAt = async (path: string) => {
      const disk = stack.use(await SmallDisk.at(path, HOST_DISK_BYTES))
      disks.push(disk)
      return disk.path
    }
    for (const { dataDir } of hosts) {
      await diskAt(dataDir)
      stack.defer(() => destroySandboxes(dataDir))
    }
    for (const { dataDir } of [...fronts, ...hosts, ...taking]) {
      await mkdir(dataDir, { recursive: true })
      await symlink(repositories, join(dataDir, 'repositories'))
    }
    for (const each of [...fronts, ...hosts, ...taking]) {
      stack.defer(() => each.kill())
      await each.start()
    }
    const dialled: Machine[] = []
    for (let n = 0; n < machines; n += 1) {
      const dataDir = await diskAt(join(directory, `machine-${n + 1}`))
      const line = stack.use(await CuttableLine.to(() => oneOf(ports)))
      const clock = new JumpingClock(`${dataDir}.clock`)
      const variables = { ...clock.variables, BERTH_CONFIG: config, BERTH_DATA_DIR: dataDir }
      const program = stack.use(await HostProgram.at(db, line.url, variables))
      program.start()
      dialled.push({ program, line, clock })
    }
    const held = 'select from hosts where connected_to is not null and token_sha256 is not null'
    await until('the machines', async () => (await db.query(held)).rowCount === machines, PATIENCE_MS)
    const parts = { postgres, bucket, fronts, hosts, takers: taking, machines: dialled, ways, disks }
    return new Fleet({ db, source, parts, blobs, apiKey: tenant.apiKey, opened: stack.move() })
  }

  private constructor(
    made: Pick<Fleet, 'db' | 'source'> & {
      readonly parts: FleetParts
      readonly blobs: S3Blobs
      readonly apiKey: string
      readonly opened: AsyncDisposableStack
    },
  ) {
    this.db = made.db
    this.source = made.source
    this.#parts = made.parts
    this.#blobs = made.blobs
    this.#apiKey = made.apiKey
    this.#opened = made.opened
  }

  get api(): Api {
    return new Api(oneOf(this.#parts.fronts).url, this.#apiKey)
  }

  /** Returns a client with another credential. */
  as(credential: string): Api {
    return new Api(oneOf(this.#parts.fronts).url, credential)
  }

  /** Repeats a request until the service answers something other than that a part is away. */
  ask<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    const check = async () => {
      const answer = await this.api.call<Body>(method, path, body).catch(() => undefined)
      return answer !== undefined && answer.status < 500 && answer
    }
    return until(`an answer to ${method} ${path}`, check, PATIENCE_MS)
  }

  async run(session: Session, runId: string): Promise<Run> {
    return (await this.ask<{ run: Run }>('GET', `/v1/sessions/${session.id}/runs/${runId}`)).body.run
  }

  /** Waits for the end of a Run. */
  async ended(session: Session, runId: string): Promise<EndedRun> {
    let refusal: unknown
    const check = async () => {
      if ((await this.run(session, runId)).endedAt === undefined) return false
      // The service may die while the log is read; then the log is read again, by the address that it has then.
      return endedRun(this.api, session, runId, 0).catch(error => {
        refusal = error
        return rethrowInvalidLog(error)
      })
    }
    return await until(`the end of run ${runId}`, check, PATIENCE_MS, POLL_MS).catch(error =>
      this.explain(session, error, refusal),
    )
  }

  /** @throws Error how the Session stands and what the workers said, besides the error */
  async explain(session: Session, cause: unknown, refusal?: unknown): Promise<never> {
    const state = await stateOf(this.db, session.id)
    const logs = [...this.#parts.hosts, ...this.#parts.takers].map(each => each.logOf(session.id))
    throw new Error([String(cause), `last error ${refusal}`, state, ...logs].join('\n'), { cause })
  }

  /** Returns whether the disk of some host had no room at that time of `performance.now()`, or later. */
  wasFullSince(at: number): boolean {
    return this.#parts.disks.some(({ fullAt }) => fullAt > at)
  }

  async strike(
    chosen: readonly Fault[],
    everyMs: number,
    storm: AbortSignal,
    report: { log(line: string): void; failed(text: string): void },
  ): Promise<void> {
    while (!storm.aborted) {
      await sleep(randomInt(2 * everyMs), undefined, { signal: storm }).catch(() => undefined)
      if (storm.aborted) return
      const kind = oneOf(chosen)
      report.log(kind)
      for (const each of processesOf(this.#parts)) {
        if (each.endedByItself === undefined) continue
        report.failed(each.endedByItself)
        await each.restart()
      }
      for (const { program } of this.#parts.machines) {
        if (isRunning(program.pid)) continue
        report.failed(`a machine has ended by itself: ${program.output.slice(-1000)}`)
        program.start()
      }
      if (await strike(this.#parts, kind)) this.struck[kind] = (this.struck[kind] ?? 0) + 1
    }
  }

  /** Returns the driver of each sandbox that was made, and the name of the tree that it lay over, if it did. */
  async leases(): Promise<readonly { readonly driver: string; readonly tree: string | null }[]> {
    return (await this.db.query<{ driver: string; tree: string | null }>('select driver, tree from leases')).rows
  }

  /** Counts the notes of parked sandboxes that appear, and those that go while the lease lives, until the signal. */
  async countParked(counts: { parked: number; woken: number }, signal: AbortSignal): Promise<void> {
    let known = new Set<string>()
    while (!signal.aborted) {
      const places = placesOf(this.#parts).map(dataDir => join(dataDir, 'leases'))
      const leases = await Promise.all(
        places.map(async place => (await readdir(place).catch(() => [])).map(id => join(place, id))),
      )
      const parked = new Set(leases.flat().filter(path => existsSync(join(path, 'host', hostNames.parked))))
      const gone = [...known.difference(parked)].map(path => basename(path))
      const live = 'select from leases where id = any($1::uuid[]) and ended_at is null'
      counts.parked += parked.difference(known).size
      if (gone.length > 0) counts.woken += (await this.db.query(live, [gone]).catch(() => null))?.rowCount ?? 0
      known = parked
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async proveNoStrays(): Promise<void> {
    await until('a lease for every sandbox', async () => {
      const { rows } = await this.db.query<{ id: string }>('select id from leases where ended_at is null')
      const leased = new Set(rows.map(({ id }) => id))
      const sandboxes = await Promise.all(placesOf(this.#parts).map(dataDir => readdir(join(dataDir, 'leases'))))
      return sandboxes.flat().every(id => leased.has(id))
    })
  }

  /**
   * Reads every blob that a checkpoint names, which checks its digest.
   * @returns how many there are
   * @throws Error if one is missing or altered
   */
  async proveBlobs(): Promise<number> {
    const { rows } = await this.db.query<{ sha256: string }>('select distinct unnest(blobs) as sha256 from checkpoints')
    for (const { sha256 } of rows) for await (const _ of await this.#blobs.get(sha256));
    return rows.length
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
