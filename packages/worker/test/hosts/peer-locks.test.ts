import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessHeartbeat } from '@berth/platform/processes/process-heartbeat.ts'
import { hearProcess } from '@berth/platform/processes/process-sql.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { clientConfig, openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { PostgresWakeups, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { until } from '@berth/testing/until.ts'
import { PeerLocks } from '@berth/worker/host/peer-locks.ts'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

const all = new AsyncDisposableStack()
let postgres: EmbeddedPostgres
let db: PooledDatabase
beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-locks-'))
  all.defer(() => rm(dataDir, { recursive: true, force: true }))
  postgres = all.use(await startEmbeddedPostgres({ dataDir, log: silentLog }))
  db = all.use(openDatabase({ connection: postgres.administration, log: silentLog }))
  await migrate(db)
})
afterAll(() => all.disposeAsync())
let stack: AsyncDisposableStack
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(async () => {
  await stack.disposeAsync()
  await db.query('delete from processes')
})

/** A worker of some machine: its row, its connection and its lock. */
async function worker(id: string, { beats = true, patienceMs = 4_000 } = {}) {
  const identity = { id, host: id, roles: ['worker'], release: null, patienceMs }
  const connection = clientConfig({ connection: postgres.administration, log: silentLog, applicationName: id })
  const wakeups = stack.use(new PostgresWakeups({ connection, log: pino({ level: 'silent' }) }))
  await wakeups.start()
  await hearProcess(db, identity)
  if (beats) await stack.use(new ProcessHeartbeat({ db, log: silentLog }, identity)).start()
  const locks = stack.use(new PeerLocks({ db, wakeups, log: silentLog }, id))
  locks.start()
  return { wakeups, locks }
}
const holders = async () => {
  const held =
    "select 1 from pg_locks where locktype = 'advisory' and objsubid = 2 and mode = 'ExclusiveLock' and granted"
  return (await db.query(held)).rows.length
}
/** Waits until the locks are held, and every worker has seen them. */
async function settled(count: number): Promise<void> {
  await until('the locks', async () => (await holders()) === count)
  const statement = `
    select 1 from pg_stat_activity
    where query_start > $1 and state = 'idle' and query like '%pg_try_advisory_xact_lock_shared%' and pid <> pg_backend_pid()`
  const [now] = (await db.query<{ now: string }>('select clock_timestamp()::text as now')).rows
  await until(
    'a look of each',
    async () => (await db.query({ text: statement, values: [now?.now] })).rows.length === count,
  )
}
/** Ids of the rows that somebody ended before they lapsed. */
const ended = async () =>
  (await db.query<{ id: string }>("select id from processes where patience = '0' order by id")).rows.map(({ id }) => id)
/** Longer than a hint takes to become a verdict. */
// bound: nothing happens, and nothing tells that it will not
const verdicts = () => sleep(2_500)

it('ends the row of a worker whose connection fell and whose row is written no more, and wakes the others', async () => {
  const one = await worker('one')
  let woken = 0
  one.wakeups.subscribe(topics.queue, () => {
    woken += 1
  })
  const dead = await worker('dead', { beats: false, patienceMs: 60_000 })
  await hearProcess(db, { id: 'dead', host: 'dead', roles: ['worker'], release: null, patienceMs: 4_000 })
  await settled(2)
  await hearProcess(db, { id: 'dead', host: 'dead', roles: ['worker'], release: null, patienceMs: 4_000 })
  woken = 0
  await dead.wakeups[Symbol.asyncDispose]()
  // The others are woken once the row has ended.
  await until('the wake-up', () => woken > 0)
  expect([await ended(), woken]).toEqual([['dead'], 1])
})

it.each(['cut', 'hung'])('leaves one that is %s alone: its row is written, or lapses by itself', async how => {
  await worker('one')
  await worker(how, { beats: how === 'cut' })
  await settled(2)
  await db.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut'")
  await verdicts()
  expect(await ended()).toEqual([])
})

it('concludes nothing if several connections fell within a second', async () => {
  await worker('one')
  const fallen = [await worker('two', { beats: false }), await worker('three', { beats: false })]
  await settled(3)
  for (const { wakeups } of fallen) await wakeups[Symbol.asyncDispose]()
  await verdicts()
  expect(await ended()).toEqual([])
})

it('takes none of ten workers for dead when the database is restarted beside them', async () => {
  for (let n = 0; n < 10; n += 1) await worker(`w${n}`)
  await settled(10)
  const before = postgres.pid
  process.kill(before, 'SIGINT')
  await until('another server', async () => postgres.pid !== before)
  await until('the locks', async () => (await holders().catch(() => 0)) === 10)
  await verdicts()
  expect(await ended()).toEqual([])
})

it('does nothing where connections share sessions, and there is no way past that', async () => {
  const locks = stack.use(new PeerLocks({ db, wakeups: { publish: () => undefined }, log: silentLog }, 'one'))
  locks.start()
  expect(await holders()).toBe(0)
})
