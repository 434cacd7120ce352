import { randomInt, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run, Session, TurnAdmission } from '@berth/contract'
import { embeddedConnection } from '../../src/storage/embedded-postgres.ts'
import { openDatabase } from '../../src/storage/pool.ts'
import { type Answer, Api } from './api.ts'
import { destroySandboxes } from './destroy-sandboxes.ts'
import { activitiesOf, type EndedRun, endedRun } from './ended-run.ts'
import { silentLog } from './log.ts'
import { signalSandbox } from './sandbox-processes.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { until } from './until.ts'

const settings = {
  BERTH_FENCE_SECONDS: '1',
  BERTH_LEASE_IDLE_SECONDS: '3',
  BERTH_MAX_HANDOVERS: '1000',
  BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
  BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
}

/** How long anything may take while the service is away now and then. */
const PATIENCE_MS = 180_000

export interface ChaosOptions {
  readonly sessions: number
  readonly durationMs: number
  /** Between two kills, on average. */
  readonly everyMs: number
}

/** What a chaos run has done; where its proofs do not hold it throws. */
export interface ChaosReport {
  readonly kills: Readonly<Record<string, number>>
  /** Runs by how they ended. */
  readonly runs: Readonly<Record<string, number>>
  readonly restores: number
  /** Sessions whose first work was lost before anything was sealed, so that they honestly could not go on. */
  readonly neverSealed: number
}

/**
 * Gives Sessions Turn after Turn while the service, its database and their sandboxes are killed at random. Proves then,
 * for each: a log without a gap, one terminal event for each Run, every byte that completed Runs have written, and for
 * all: no sandbox without a lease.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  await using harbour = await Harbour.open()
  const { sessions, durationMs, everyMs } = options
  const storm = AbortSignal.timeout(durationMs)
  const courses = Array.from({ length: sessions }, () => new Course(harbour))
  const killing = harbour.killAround(everyMs, storm)
  const sailing = Promise.all(courses.map(course => course.sail(storm)))
  await Promise.all([killing, sailing])
  for (const course of courses) await course.prove()
  await harbour.proveNoStrays()
  return {
    kills: harbour.kills,
    runs: count(courses.flatMap(({ ended }) => ended.map(({ run }) => run.status))),
    restores: courses.reduce((sum, { restores }) => sum + restores, 0),
    neverSealed: courses.reduce((sum, { neverSealed }) => sum + neverSealed, 0),
  }
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The service as one process on its embedded database, and what kills it and them. */
class Harbour implements AsyncDisposable {
  readonly kills: Record<string, number> = { service: 0, database: 0, sandbox: 0 }
  readonly #dataDir: string
  readonly #opened: AsyncDisposableStack
  readonly #apiKey: string
  #service: ServiceProcess

  static async open(): Promise<Harbour> {
    await using stack = new AsyncDisposableStack()
    const dataDir = await mkdtemp(join(tmpdir(), 'berth-chaos-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    stack.defer(() => destroySandboxes(dataDir))
    const service = await startServiceProcess({ ...settings, BERTH_DATA_DIR: dataDir })
    const { apiKey }: { apiKey: string } = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8'))
    const harbour = new Harbour(dataDir, service, apiKey, stack.move())
    harbour.#opened.defer(() => harbour.#service.kill())
    return harbour
  }

  private constructor(dataDir: string, service: ServiceProcess, apiKey: string, opened: AsyncDisposableStack) {
    this.#dataDir = dataDir
    this.#service = service
    this.#apiKey = apiKey
    this.#opened = opened
  }

  get api(): Api {
    return new Api(this.#service.url, this.#apiKey)
  }

  /** Asks until the service is there and answers otherwise than that something is away. */
  ask<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    const look = async () => {
      const answer = await this.api.call<Body>(method, path, body).catch(() => undefined)
      return answer !== undefined && answer.status < 500 && answer
    }
    return until(`an answer to ${method} ${path}`, look, PATIENCE_MS)
  }

  ended(session: Session, runId: string): Promise<EndedRun> {
    return until(
      `the end of run ${runId}`,
      async () => {
        const { body } = await this.ask<{ run: Run }>('GET', `/v1/sessions/${session.id}/runs/${runId}`)
        // The log is read at once, so that the service must stay for that: else it is read again.
        return body.run.endedAt !== undefined && endedRun(this.api, session, runId).catch(refuseLies)
      },
      PATIENCE_MS,
    )
  }

  async killAround(everyMs: number, storm: AbortSignal): Promise<void> {
    const kinds = ['service', 'database', 'sandbox', 'sandbox', 'sandbox'] as const
    while (!storm.aborted) {
      await sleep(randomInt(2 * everyMs), undefined, { signal: storm }).catch(() => undefined)
      if (storm.aborted) return
      const kind = kinds[randomInt(kinds.length)] ?? 'sandbox'
      if (await this.#kill(kind)) this.kills[kind] = (this.kills[kind] ?? 0) + 1
    }
  }

  async proveNoStrays(): Promise<void> {
    await using db = openDatabase({ connection: embeddedConnection(this.#dataDir), log: silentLog })
    await until('a lease for every sandbox', async () => {
      const { rows } = await db.query<{ id: string }>('select id from leases where ended_at is null')
      const leased = new Set(rows.map(({ id }) => id))
      return (await readdir(join(this.#dataDir, 'leases'))).every(id => leased.has(id))
    })
  }

  /** @returns whether there was anything to kill */
  async #kill(kind: 'service' | 'database' | 'sandbox'): Promise<boolean> {
    if (kind === 'service') {
      await this.#service.kill('SIGKILL')
      this.#service = await startServiceProcess({ ...settings, BERTH_DATA_DIR: this.#dataDir })
      return true
    }
    try {
      if (kind === 'database') {
        const file = await readFile(join(this.#dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8')
        process.kill(Number(file.split('\n')[0]), 'SIGKILL')
      } else {
        const leases = await readdir(join(this.#dataDir, 'leases'))
        await signalSandbox(this.#dataDir, leases[randomInt(Math.max(1, leases.length))] ?? '', 'SIGKILL')
      }
      return true
    } catch {
      return false
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

/** A log that breaks its word is what this looks for; a service that was killed while it was read is not. */
function refuseLies(error: unknown): false {
  if (error instanceof Error && error.message.startsWith('the log breaks its word')) throw error
  return false
}

/** One Session that is given Turn after Turn; where it honestly cannot go on, another one in its place. */
class Course {
  readonly ended: EndedRun[] = []
  restores = 0
  neverSealed = 0
  readonly #harbour: Harbour
  #session: Session | null = null
  /** What completed Runs of the Session wrote, in order. */
  #written: string[] = []

  constructor(harbour: Harbour) {
    this.#harbour = harbour
  }

  async sail(storm: AbortSignal): Promise<void> {
    while (!storm.aborted) await this.#turn()
  }

  /** Once more when all is calm, and held against what was written. */
  async prove(): Promise<void> {
    const session = this.#session
    if (session === null) return
    const events = await this.#harbour.api.events(session.id)
    this.restores += events.filter(event => event.data['name'] === 'restore').length
    const expected = [...this.#written]
    const last = await this.#turn()
    if (expected.length === 0) return
    if (last?.session.id !== session.id || last.run.status !== 'completed') {
      throw new Error(`session ${session.id} does not go on in calm weather: ${JSON.stringify(last?.run)}`)
    }
    const lines = String(activitiesOf(last)[0]?.['output']).trim().split('\n')
    const found = lines.filter(line => expected.includes(line))
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      throw new Error(`session ${session.id} has lost sealed work: ${JSON.stringify({ expected, lines })}`)
    }
  }

  async #turn(): Promise<EndedRun | null> {
    const session = this.#session ?? (await this.#begin())
    this.#session = session
    const id = randomUUID()
    // Fails unless all that earlier Runs wrote is there to the byte.
    const message = [
      'set -e',
      '[ ! -e sums ] || sha256sum -c --status sums',
      `head -c ${randomInt(1, 20_000)} /dev/urandom > file-${id}; sha256sum file-${id} >> sums; echo ${id} >> log`,
      'sleep 0.1; cat log',
    ].join('\n')
    const answer = await this.#harbour.ask<TurnAdmission>('PUT', `/v1/sessions/${session.id}/turns/${id}`, { message })
    if (answer.status === 409) return this.#refused(session, answer.text)
    if (answer.status !== 202 && answer.status !== 200)
      throw new Error(`a turn answered ${answer.status} ${answer.text}`)
    const ended = await this.#harbour.ended(session, answer.body.run.id)
    this.ended.push(ended)
    if (ended.run.status === 'failed') throw new Error(`a run has failed: ${JSON.stringify(ended.run)}`)
    if (ended.run.status === 'completed') this.#written.push(id)
    return ended
  }

  async #begin(): Promise<Session> {
    const { body } = await this.#harbour.ask<{ session: Session }>('PUT', `/v1/sessions/${randomUUID()}`, {
      runtime: 'shell',
    })
    this.#written = []
    return body.session
  }

  /** Allowed only while no Run of the Session has completed: what one has done must never be out of reach. */
  #refused(session: Session, text: string): null {
    if (this.#written.length > 0 || !text.includes('cloud_resume_unavailable')) {
      throw new Error(`session ${session.id} was refused a turn after ${this.#written.length} completed runs: ${text}`)
    }
    this.neverSealed += 1
    this.#session = null
    return null
  }
}
