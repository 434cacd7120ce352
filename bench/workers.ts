// Measures the processor time of a start of a Run, from the `PUT` of its fresh Session to the end of its sandbox, with one
// worker and with four that share the same load. Counted are API, workers, their helper programs and the database; what
// runs inside the sandboxes is the same on both sides, and is not. Run as: node bench/workers.ts [rounds] [starts of a round]
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { destroySandboxes } from '../packages/server/test/support/faults/destroy-sandboxes.ts'
import { startServiceProcess } from '../packages/server/test/support/services/service-process.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { median, show } from './support/statistics.ts'

const BOUND = 1.1
/** Runs at work at once, of all workers together. */
const AT_ONCE = 8
const TICK_MS = 10
const rounds = Number(process.argv[2] ?? 5)
const starts = Number(process.argv[3] ?? 40)

await using bench = await openBenchDatabase()
const directory = await mkdtemp(join(tmpdir(), 'berth-workers-'))
await using removal = new AsyncDisposableStack()
removal.defer(() => rm(directory, { recursive: true, force: true }))
const shared = {
  DATABASE_URL: bench.url,
  BERTH_BLOBS: `file:${join(directory, 'blobs')}`,
  BERTH_MASTER_KEY: randomBytes(32).toString('hex'),
}
await using api = await startBenchService(bench, shared)
const [backend] = (await bench.db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows
const postmaster = statOf(backend?.pid ?? 0)?.parent ?? 0

interface Fleet extends AsyncDisposable {
  readonly pids: readonly number[]
}

async function startWorkers(count: number): Promise<Fleet> {
  await using stack = new AsyncDisposableStack()
  const started = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const dataDir = join(directory, `${count}-${n}`)
      const variables = { BERTH_ROLES: 'worker', BERTH_DATA_DIR: dataDir, BERTH_GATEWAY_URL: api.url }
      const own = {
        BERTH_WORKER_CONCURRENCY: String(AT_ONCE / count),
        BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
      }
      const service = await startServiceProcess({ ...shared, ...variables, ...own })
      stack.defer(async () => {
        await service.kill('SIGTERM')
        await destroySandboxes(dataDir)
      })
      return service.pid
    }),
  )
  const opened = stack.move()
  return { pids: started, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function call(method: string, path: string, body?: object): Promise<void> {
  const answer = await fetch(api.url + path, {
    method,
    headers: { authorization: `Bearer ${bench.apiKey}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
}

async function untilNone(query: string): Promise<void> {
  while (((await bench.db.query(query)).rowCount ?? 0) > 0) await sleep(20)
}

/** Starts Runs in fresh Sessions, all at once, and waits until their sandboxes are gone. */
async function round(): Promise<{ readonly runsMs: number }> {
  const ids = Array.from({ length: starts }, () => randomUUID())
  const begun = performance.now()
  const initial = () => ({ runtime: 'shell', initialTurn: { id: randomUUID(), message: 'true' } })
  await Promise.all(ids.map(id => call('PUT', `/v1/sessions/${id}`, initial())))
  await untilNone('select from runs where ended_at is null')
  const runsMs = performance.now() - begun
  await untilNone('select from executions where task is not null')
  await Promise.all(ids.map(id => call('DELETE', `/v1/sessions/${id}`)))
  await untilNone('select from leases where ended_at is null')
  const { rows } = await bench.db.query<{ count: number }>(
    "select count(*)::integer as count from runs where status <> 'completed'",
  )
  if (rows[0]?.count !== 0) throw new Error('a run did not complete')
  return { runsMs }
}

/** Returns the processor time that processes, their ended children, and the database have used, in milliseconds. */
function processorMs(pids: readonly number[]): number {
  const database = readdirSync('/proc').flatMap(name => {
    const pid = Number(name)
    return Number.isInteger(pid) && (pid === postmaster || statOf(pid)?.parent === postmaster) ? [pid] : []
  })
  return [...pids, ...database].reduce((sum, pid) => sum + (statOf(pid)?.usedMs ?? 0), 0)
}

function statOf(pid: number): { readonly parent: number; readonly usedMs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [user = 0, system = 0, ofChildren = 0, systemOfChildren = 0] = fields.slice(11, 15)
    return { parent: fields[1] ?? 0, usedMs: (user + system + ofChildren + systemOfChildren) * TICK_MS }
  } catch {
    return undefined
  }
}

const taken = { 1: [] as number[], 4: [] as number[] }
const perSecond = { 1: [] as number[], 4: [] as number[] }
for (let n = 0; n < rounds; n += 1) {
  for (const count of [1, 4] as const) {
    await using workers = await startWorkers(count)
    const pids = [api.pid, ...workers.pids]
    // Modules are loaded and compiled at first use.
    await round()
    const before = processorMs(pids)
    const { runsMs } = await round()
    taken[count].push((processorMs(pids) - before) / starts)
    perSecond[count].push((starts / runsMs) * 1000)
  }
}
for (const count of [1, 4] as const) {
  console.info(
    `workers=${count} processor_ms_per_start=${show(median(taken[count]), 1)} starts_per_second=${show(median(perSecond[count]), 1)}`,
  )
}
const ratios = taken[4].map((ms, n) => ms / (taken[1][n] ?? Number.NaN))
console.info(`ratio=${show(median(ratios), 2)} of ${ratios.map(each => show(each, 2)).join(' ')} bound=${BOUND}`)
if (!(median(ratios) <= BOUND)) process.exitCode = 1
