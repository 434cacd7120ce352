import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BerthClient, createClient, type Event, followSession } from '@berth/client'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { storedLog } from '@berth/testing/events/log-writer.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { freePorts } from '@berth/testing/services/free-ports.ts'
import { databaseUrl, shortFence, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, expect, test } from 'vitest'

const SESSIONS = 8
const FOLLOWERS = 64
/** The output of one Turn, besides its own start and end. */
const script = 'say beginning\ntools 12\nsay end'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

/** A process that the test may kill and start again at the same address. */
class Restartable implements AsyncDisposable {
  readonly #variables: Record<string, string>
  #running: ServiceProcess | null = null

  constructor(variables: Record<string, string>) {
    this.#variables = variables
  }

  async start(): Promise<void> {
    this.#running = await startServiceProcess(this.#variables)
  }

  async kill(): Promise<void> {
    await this.#running?.kill('SIGKILL')
    this.#running = null
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

/** A client of one Session that runs until its signal aborts. */
class Follower {
  readonly events: Event[] = []
  readonly done: Promise<void>

  constructor(client: BerthClient, sessionId: string, signal: AbortSignal) {
    this.done = this.#follow(followSession({ client, sessionId, signal }))
  }

  get newest(): number {
    return this.events.at(-1)?.sequence ?? 0
  }

  async #follow(events: AsyncIterable<Event>): Promise<void> {
    for await (const event of events) this.events.push(event)
  }
}

/** Resolves once each of these followers has advanced beyond its current Event. */
async function advance(what: string, followers: readonly Follower[]): Promise<void> {
  const before = followers.map(({ newest }) => newest)
  await until(what, () => followers.every(({ newest }, n) => newest > (before[n] ?? 0)), 40_000)
}

/** Keeps a Session busy through whichever process answers. */
async function keepWorking(db: TestDatabase, sessionId: string, clients: readonly BerthClient[], end: AbortSignal) {
  const anyOf = async <T>(ask: (client: BerthClient) => Promise<T>): Promise<T> => {
    for (let n = 0; ; n += 1) {
      const client = clients[n % clients.length]
      if (client === undefined) throw new Error('no clients')
      try {
        return await ask(client)
      } catch (error) {
        if (n > 100) throw error
      }
    }
  }
  await anyOf(client => client.call('createSession', { sessionId, body: { runtime: 'scripted' } }))
  while (!end.aborted) {
    const turnId = randomUUID()
    const { run } = await anyOf(client => client.call('submitTurn', { sessionId, turnId, body: { message: script } }))
    await until(
      `the end of a run of ${sessionId}`,
      async () => {
        const { rows } = await db.database.query('select 1 from runs where id = $1 and ended_at is not null', [run.id])
        return rows.length > 0
      },
      40_000,
    )
  }
}

test('64 clients of two api processes see exactly the table, whichever process is killed', {
  timeout: 300_000,
}, async () => {
  const db = stack.use(await createTestDatabase())
  const { apiKey, organizationId } = await createTenant(db.database)
  const directory = await runDirectory('processes')
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const workerDir = join(directory, 'worker')
  stack.defer(() => destroySandboxes(workerDir))
  const { runtimes } = stack.use(await scriptedRuntimes())
  const config = join(directory, 'berth.json')
  await writeFile(config, JSON.stringify({ runtimes: runtimes.slice(0, 1) }))

  const ports = await freePorts(2)
  const blobs = `file:${join(directory, 'blobs')}`
  const shared = {
    ...testVariables,
    ...shortFence,
    DATABASE_URL: databaseUrl(db),
    BERTH_CONFIG: config,
    BERTH_BLOBS: blobs,
    BERTH_MASTER_KEY: '0b'.repeat(32),
  }
  const apis = ports.map((port, n) => {
    const own = { BERTH_ROLES: 'api', BERTH_PORT: String(port), BERTH_DATA_DIR: join(directory, `api-${n}`) }
    return stack.use(new Restartable({ ...shared, ...own }))
  })
  const worker = stack.use(new Restartable({ ...shared, BERTH_ROLES: 'worker', BERTH_DATA_DIR: workerDir }))
  await Promise.all([...apis, worker].map(process => process.start()))

  const newClient = (port: number, attempts: number) =>
    // bound: a pause between two tries
    createClient({ baseUrl: `http://127.0.0.1:${port}`, credential: apiKey, retry: { attempts, baseDelayMs: 50 } })
  const sessionIds = Array.from({ length: SESSIONS }, () => randomUUID())
  const workEnds = new AbortController()
  const oneTry = ports.map(port => newClient(port, 2))
  const working = sessionIds.map(id => keepWorking(db, id, oneTry, workEnds.signal))
  const failed = Promise.all(working)
  failed.catch(() => undefined)
  await until('the sessions', async () => {
    const { rows } = await db.database.query('select 1 from sessions')
    return rows.length === SESSIONS
  })

  const followingEnds = new AbortController()
  stack.defer(() => followingEnds.abort())
  const followers = Array.from({ length: FOLLOWERS }, (_, n) => {
    const client = newClient(ports[n % 2] ?? 0, 3)
    return new Follower(client, sessionIds[Math.floor(n / 2) % SESSIONS] ?? '', followingEnds.signal)
  })
  const of = (api: number) => followers.filter((_, n) => n % 2 === api)
  await advance('everyone to have begun', followers)

  for (const [n, api] of apis.entries()) {
    await api.kill()
    await advance('the others to go on', of(1 - n))
    await api.start()
    await advance('everyone to be back', followers)
  }
  await worker.kill()
  await worker.start()
  await advance('work to go on', followers)

  workEnds.abort()
  await failed
  const logs = new Map<string, Event[]>()
  for (const sessionId of sessionIds) {
    const stored = await storedLog(db, { organizationId, sessionId })
    expect(stored.map(({ sequence }) => sequence)).toEqual(stored.map((_, n) => n + 1))
    logs.set(
      sessionId,
      stored.map(({ envelope }) => JSON.parse(envelope) as Event),
    )
  }
  const logOf = (n: number) => logs.get(sessionIds[Math.floor(n / 2) % SESSIONS] ?? '') ?? []
  await until('all followers to have all', () => followers.every(({ newest }, n) => newest >= logOf(n).length))
  followingEnds.abort()
  await Promise.all(followers.map(({ done }) => done))
  for (const [n, { events }] of followers.entries()) expect(events).toEqual(logOf(n))
})
