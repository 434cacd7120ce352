// Measures how long a Run stands still after its worker is killed: from `kill -9` of the worker's process to the Run's
// next Event from another process, with default settings. The agent finishes at the moment of the kill, so the measured
// time is the service's alone. With `elsewhere` the workers do not find each other on the machine, as if each had its own.
// Run as: node bench/takeover.ts [kills] [elsewhere]
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fence, Run, Session } from '@berth/contract'
import { destroySandboxes } from '../packages/testing/src/faults/destroy-sandboxes.ts'
import { type ServiceProcess, startServiceProcess } from '../packages/testing/src/services/service-process.ts'
import { touch } from '../packages/testing/src/workspaces/workspace.ts'
import { callerOf } from './support/bench-api.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { median, quantile } from './support/statistics.ts'

const BOUND_MS = 1500
const kills = Number(process.argv[2] ?? 10)
const isElsewhere = process.argv[3] === 'elsewhere'

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => destroySandboxes(bench.dataDir))
await using service = await startBenchService(bench)
const workers = new Set<ServiceProcess>()
removal.defer(async () => {
  await Promise.all([...workers].map(worker => worker.kill()))
})

async function startWorker(): Promise<void> {
  const variables = { BERTH_ROLES: 'worker', BERTH_DATA_DIR: bench.dataDir, DATABASE_URL: bench.url }
  // Tests wait longer than the default.
  workers.add(await startServiceProcess({ ...variables, BERTH_FENCE_SECONDS: '4' }))
}

const call = callerOf(service.url, bench.apiKey)

/** Polls until there is an answer. */
async function wait<T>(check: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await check()
    if (found !== undefined) return found
    await sleep(10)
  }
}

/** A worker without its page is not judged by those of its machine. */
async function removePages(): Promise<void> {
  const directory = join(bench.dataDir, 'workers')
  const pages = (await readdir(directory)).filter(name => name.endsWith('.json'))
  await Promise.all(pages.map(page => rm(join(directory, page))))
}

async function standstillMs(): Promise<number> {
  const id = randomUUID()
  const [turnId, message] = [randomUUID(), 'while [ ! -e go ]; do sleep 0.02; done']
  const begin = { runtime: 'shell', initialTurn: { id: turnId, message } }
  const { session } = await call<{ session: Session }>('PUT', `/v1/sessions/${id}`, begin)
  const fence = await wait(async () => {
    const { rows } = await bench.db.query("select 1 from runs where session_id = $1 and status = 'running'", [id])
    if (rows.length === 0) return undefined
    return (await call<{ fence: Fence | null }>('GET', `/v1/sessions/${id}/fence`)).fence ?? undefined
  })
  const holder = [...workers].find(({ pid }) => String(pid) === fence.holder.split('/')[1])
  if (holder === undefined) throw new Error(`no worker ${fence.holder}`)
  workers.delete(holder)
  if (isElsewhere) await removePages()
  // Kill at a random point of the heartbeat's period.
  await sleep(Math.random() * 1000)
  await holder.kill('SIGKILL')
  const begun = performance.now()
  await touch(bench.db, bench.dataDir, session, 'go')
  await wait(async () => {
    const { run } = await call<{ run: Run }>('GET', `/v1/sessions/${id}/runs/${fence.runId}`)
    if (run.endedAt !== undefined && run.status !== 'completed') throw new Error(`the run ended ${run.status}`)
    return run.endedAt
  })
  const took = performance.now() - begun
  await startWorker()
  return took
}

await Promise.all([startWorker(), startWorker()])
const all: number[] = []
for (let n = 0; n < kills; n += 1) all.push(await standstillMs())
const worst = quantile(all, 1)
process.stdout.write(
  `worker killed to run going on, ms: median ${median(all).toFixed(0)} (bound ${BOUND_MS}), most ${worst.toFixed(0)}\n`,
)
if (median(all) > BOUND_MS) process.exitCode = 1
