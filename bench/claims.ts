// Measures what it costs the database that one process holds many Runs for some seconds: by the row of the process, and by
// the renewal of each claim, which it replaced. Both take turns in one run. Run as: node bench/claims.ts [held] [seconds]
import { setTimeout as sleep } from 'node:timers/promises'
import type { Claim } from '../packages/server/src/execution/claim/claim.ts'
import { standingClaims } from '../packages/server/src/execution/claim/hold-sql.ts'
import { hearProcess } from '../packages/server/src/processes/process-sql.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { show } from './support/statistics.ts'

const FENCE_MS = 4_000
const BOUND = 10
const held = Number(process.argv[2] ?? 10_000)
const seconds = Number(process.argv[3] ?? 20)
const holder = 'bench'
const self = { id: holder, host: 'bench', roles: ['worker'], release: null, patienceMs: FENCE_MS }

await using bench = await openBenchDatabase()
const { db } = bench
const claims: Claim[] = (await bench.newSessions(held)).map(key => ({ ...key, token: 1, holder, runId: null }))
await db.query(
  `insert into executions (organization_id, session_id, token, task, attempt, holder, acquired_at, heartbeat_at,
     expires_at)
   select $1, id, 1, 'run', 1, $3, now(), now(), 'infinity' from unnest($2::uuid[]) as id`,
  [bench.organizationId, claims.map(({ sessionId }) => sessionId), holder],
)
await db.query('vacuum (analyze) executions')

/** The statement until now: every claim is written, and its place in the index on `expires_at`. */
async function renewEach(): Promise<void> {
  await db.query({
    name: 'renew-claims',
    text: `
      update executions e set heartbeat_at = now(), expires_at = now() + interval '4 seconds'
      from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[]) as c (organization_id, session_id, token, holder)
      where e.organization_id = c.organization_id and e.session_id = c.session_id and e.token = c.token
        and e.holder = c.holder and e.task is not null
      returning e.organization_id, e.session_id`,
    values: [
      claims.map(({ organizationId }) => organizationId),
      claims.map(({ sessionId }) => sessionId),
      claims.map(({ token }) => token),
      claims.map(() => holder),
    ],
  })
}

let beats = 0
/** What `ProcessHeartbeat` and `Worker` do. */
async function beat(): Promise<void> {
  const late = await hearProcess(db, self)
  beats += 1
  if (late || beats % 4 === 0) await standingClaims(db, claims)
}

async function measure(name: string, round: () => Promise<void>): Promise<void> {
  await round()
  const before = await counters()
  let busyMs = 0
  const start = performance.now()
  for (let n = 1; performance.now() - start < seconds * 1000; n += 1) {
    const begun = performance.now()
    await round()
    busyMs += performance.now() - begun
    await sleep(Math.max(0, start + (n * FENCE_MS) / 4 - performance.now()))
  }
  const elapsed = (performance.now() - start) / 1000
  const after = await counters()
  const rows = (after.rows - before.rows) / elapsed
  const wal = (after.wal - before.wal) / elapsed / 1024
  console.info(
    `${name}: rows_written_per_second=${show(rows, 1)} wal_kib_per_second=${show(wal, 1)} busy_ms_per_second=${show(busyMs / elapsed, 1)}`,
  )
}

/** Rows written so far to the two tables, and the position of the write-ahead log in bytes. */
async function counters(): Promise<{ rows: number; wal: number }> {
  // Each connection reports its counts at the end of a transaction, at most once a second.
  await sleep(1_500)
  await Promise.all(Array.from({ length: 20 }, () => db.query('select pg_stat_force_next_flush()')))
  const { rows } = await db.query<{ rows: number; wal: number }>(
    `select sum(n_tup_upd + n_tup_ins)::float8 as rows, (pg_current_wal_lsn() - '0/0')::float8 as wal
     from pg_stat_user_tables where relname in ('executions', 'processes')`,
  )
  return rows[0] ?? { rows: 0, wal: 0 }
}

console.info(`held=${held} seconds=${seconds} bound_rows_per_second=${BOUND}`)
await measure('row_of_the_process', beat)
await measure('renewal_of_each', renewEach)
