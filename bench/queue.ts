// Measures the database's costs of a Run from its admission to the release of its seal, beside Runs that wait and Runs that
// are held: the time of each step, and bytes of write-ahead log. Run as: node bench/queue.ts [runs] [waiting] [held]
import { randomUUID } from 'node:crypto'
import type { RunClaim } from '../packages/server/src/execution/claim/claim.ts'
import { claimShare } from '../packages/server/src/execution/claim/claim-queued-sql.ts'
import { adoptLapsed, isDue } from '../packages/server/src/execution/claim/claim-sql.ts'
import { underFence } from '../packages/server/src/execution/claim/under-fence.ts'
import { systemClock } from '../packages/server/src/kit/clock.ts'
import type { SessionKey } from '../packages/server/src/kit/session-key.ts'
import { hearProcess } from '../packages/server/src/processes/process-sql.ts'
import { endRun } from '../packages/server/src/sessions/runs/end-run.ts'
import { releaseFence } from '../packages/server/src/sessions/runs/fence-sql.ts'
import { queueRun } from '../packages/server/src/sessions/runs/queue-run.ts'
import { markRunning } from '../packages/server/src/sessions/runs/run-sql.ts'
import { holdSession } from '../packages/server/src/sessions/session/session-sql.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { median, quantile, show } from './support/statistics.ts'

const runs = Number(process.argv[2] ?? 1_000)
const waiting = Number(process.argv[3] ?? 10_000)
const held = Number(process.argv[4] ?? 10_000)
const holder = 'bench'

await using bench = await openBenchDatabase()
const { db } = bench
const context = { db, clock: systemClock }
await hearProcess(db, {
  ...{ id: holder, host: 'here', roles: ['worker'], release: null, patienceMs: 3_600_000 },
  load: () => ({ hands: 1_000_000, busy: 0 }),
})
await db.query("insert into hosts (id, runtimes, seen_at) values ('here', '{}', now())")
const by = () => ({ holder, hosts: ['here'], now: new Date() })
const share = { hands: 1_000_000, busy: 0, patienceMs: 3_600_000, pending: [], away: [] }
const claim = async (limit: number) => (await claimShare(db, by(), limit, share)).claims

const admit = (key: SessionKey) =>
  db.transaction(async tx => {
    const run = { id: randomUUID(), turnId: randomUUID(), runtime: null, model: null, now: new Date() }
    await Promise.all([holdSession(tx, key), queueRun(tx, key, run)])
  })

for (const key of await bench.newSessions(held)) await admit(key)
for (let left = held; left > 0; ) left -= (await claim(64)).length
const waitingSessions = await bench.newSessions(waiting)
// They are younger than those that are measured, which are older than anybody else's.
const measured = await bench.newSessions(runs)
for (const key of waitingSessions) await admit(key)
await db.query('vacuum (analyze)')

const steps: Record<string, number[]> = {}
async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const done = await work()
  steps[name] ??= []
  steps[name].push(performance.now() - begun)
  return done
}

async function written(): Promise<number> {
  const { rows } = await db.query<{ wal: number }>("select (pg_current_wal_lsn() - '0/0')::float8 as wal")
  return rows[0]?.wal ?? 0
}

const before = await written()
for (const key of measured) {
  await timed('admit', () => admit(key))
  // The oldest that waits takes its place: the queue stays as long as it was.
  const [taken] = await timed('claim', () => claim(1))
  if (taken === undefined) throw new Error('nothing was claimed')
  const fence: RunClaim = taken
  await timed('begin', () => underFence(context, fence, tx => markRunning(tx, fence, fence.runId, new Date())))
  await timed('end', () =>
    underFence(context, fence, tx =>
      endRun(tx, fence, fence.runId, { status: 'completed' }, new Date(), { seal: true }),
    ),
  )
  await timed('release', () => underFence(context, fence, tx => releaseFence(tx, fence)))
  await timed('look for lapsed', () => adoptLapsed(db, by(), 8))
  await timed('look for what is due', () => isDue(db, holder, 1000))
}
const bytes = (await written()) - before
console.info(`runs=${runs} waiting=${waiting} held=${held} wal_bytes_per_run=${show(bytes / runs, 0)}`)
for (const [name, ms] of Object.entries(steps))
  console.info(`${name}: p50_ms=${show(median(ms))} p90_ms=${show(quantile(ms, 0.9))}`)
