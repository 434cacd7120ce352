// Compares appends through the real path with bare statements on the same connections: 64 Sessions at once, one Event
// per transaction on both sides, `synchronous_commit` on, every row read back. Run as: node bench/events-append.ts
// [events]
import { randomUUID } from 'node:crypto'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import type { SessionKey } from '../packages/platform/src/kit/session-key.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { median, show } from './support/statistics.ts'

const SESSIONS = 64
const ROUNDS = 5
const BOUND = 0.6
const perSession = Math.ceil(Number(process.argv[2] ?? 12_800) / SESSIONS)
const data = { activityId: randomUUID(), category: 'tool', name: 'bash', status: 'started', note: 'x'.repeat(200) }

await using bench = await openBenchDatabase(32)
const { db } = bench
await db.query('create table bare (session uuid, sequence bigint, envelope text, primary key (session, sequence))')

const real = (key: SessionKey) => appendEvents(db, key, [{ type: 'svc.run.progress', data }], new Date())
const bare = (key: SessionKey, sequence: number) =>
  db.query({
    name: 'bare-insert',
    text: 'insert into bare values ($1, $2, $3)',
    values: [
      key.sessionId,
      sequence,
      JSON.stringify({ id: randomUUID(), type: 'x', createdAt: new Date(), sequence, data }),
    ],
  })

async function perSecond(append: (key: SessionKey, sequence: number) => Promise<unknown>, keys: readonly SessionKey[]) {
  const start = performance.now()
  await Promise.all(
    keys.map(async key => {
      for (let sequence = 1; sequence <= perSession; sequence += 1) await append(key, sequence)
    }),
  )
  return (keys.length * perSession * 1000) / (performance.now() - start)
}

/** Bytes that the write-ahead log has had, and that Events and their indexes take on disk. */
async function bytes(): Promise<{ readonly log: number; readonly events: number }> {
  const { rows } = await db.query<{ log: number; events: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as log,
       (select sum(pg_total_relation_size(oid))::float8 from pg_class where relname = 'events') as events`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('the database says nothing of its size')
  return row
}

const ratios: number[] = []
const perEvent: { log: number[]; events: number[] } = { log: [], events: [] }
const rates: { real: number[]; bare: number[] } = { real: [], bare: [] }
for (let round = 0; round <= ROUNDS; round += 1) {
  const keys = await bench.newSessions(SESSIONS)
  const before = await bytes()
  const ours = await perSecond(real, keys)
  const after = await bytes()
  const theirs = await perSecond(bare, keys)
  const ids = keys.map(key => key.sessionId)
  for (const [table, column] of [
    ['events', 'session_id'],
    ['bare', 'session'],
  ]) {
    const { rows } = await db.query<{ id: string; count: number; newest: number }>(
      `select ${column} as id, count(*) as count, max(sequence) as newest from ${table} where ${column} = any($1) group by 1`,
      [ids],
    )
    const whole = rows.length === SESSIONS && rows.every(row => row.count === perSession && row.newest === perSession)
    if (!whole) throw new Error(`${table} does not hold what was appended`)
  }
  if (round === 0) continue
  rates.real.push(ours)
  rates.bare.push(theirs)
  ratios.push(ours / theirs)
  perEvent.log.push((after.log - before.log) / (SESSIONS * perSession))
  perEvent.events.push((after.events - before.events) / (SESSIONS * perSession))
}
console.info(`append: ${show(median(rates.real), 0)}/s, bare insert: ${show(median(rates.bare), 0)}/s`)
console.info(`ratio: ${show(median(ratios))} (to reach: at least ${BOUND})`)
console.info(`of one Event: ${show(median(perEvent.log), 0)} B of log, ${show(median(perEvent.events), 0)} B on disk`)
