// Compares appends through the real path with the same without the log's chain, and with bare statements, on the same
// connections: 64 Sessions at once, one Event per transaction on all sides, `synchronous_commit` on, every row read back. The
// first two take turns chunk by chunk, so that whatever else the machine does meets both. Run as: node bench/events-append.ts [events]
import { randomUUID } from 'node:crypto'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import { splitEnvelope } from '../packages/core/src/sessions/log/envelope.ts'
import { Redactor } from '../packages/platform/src/kit/redactor.ts'
import type { SessionKey } from '../packages/platform/src/kit/session-key.ts'
import { movedIn } from '../packages/platform/src/storage/postgres/moved-in.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { median, show } from './support/statistics.ts'

const SESSIONS = 64
const ROUNDS = 6
const BOUND = 0.6
/** Of the time of an append with the chain to that of one without. */
const CHAIN_BOUND = 1.1
const CHUNKS = 10
const perChunk = Math.ceil(Number(process.argv[2] ?? 12_800) / SESSIONS / CHUNKS)
const perSession = perChunk * CHUNKS
const data = { activityId: randomUUID(), category: 'tool', name: 'bash', status: 'started', note: 'x'.repeat(200) }

await using bench = await openBenchDatabase(32)
const { db } = bench
await db.query('create table bare (session uuid, sequence bigint, envelope text, primary key (session, sequence))')

const real = (key: SessionKey) => appendEvents(db, key, [{ type: 'svc.run.progress', data }], new Date())
const redactor = new Redactor([])
/** The append as it would be without the chain. */
const unchained = ({ organizationId, sessionId }: SessionKey) => {
  const now = new Date()
  const { head, tail } = splitEnvelope({ type: 'svc.run.progress', data }, sessionId, now, redactor)
  return db.query({
    name: 'append-without-chain',
    text: `
      with head as (
        update sessions
        set last_event_sequence = last_event_sequence + (secrets_version = $8)::integer,
          updated_at = greatest(updated_at, $3),
          ${movedIn}
        where organization_id = $1 and id = $2
        returning last_event_sequence as last, secrets_version, owner_kind, owner_id
      )
      insert into events (organization_id, session_id, sequence, type, run_id, envelope)
      select $1, $2, last, $4, $5, $6 || last::text || $7 from head where secrets_version = $8
      returning sequence as last`,
    values: [organizationId, sessionId, now.toISOString(), 'svc.run.progress', null, head, tail, 0],
  })
}
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

type Append = (key: SessionKey, sequence: number) => Promise<unknown>

/** Appends a chunk in every Session at once, and returns how long that took, in milliseconds. */
async function chunk(append: Append, keys: readonly SessionKey[], from: number, count: number): Promise<number> {
  const start = performance.now()
  await Promise.all(
    keys.map(async key => {
      for (let sequence = from; sequence < from + count; sequence += 1) await append(key, sequence)
    }),
  )
  return performance.now() - start
}

const rateOf = (ms: number) => (SESSIONS * perSession * 1000) / ms

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
const rates: { real: number[]; unchained: number[]; bare: number[] } = { real: [], unchained: [], bare: [] }
const chainRatios: number[] = []
for (let round = 0; round <= ROUNDS; round += 1) {
  const keys = await bench.newSessions(SESSIONS)
  const plainKeys = await bench.newSessions(SESSIONS)
  const ms = { real: 0, unchained: 0 }
  const grown = { log: 0, events: 0 }
  for (let at = 0; at < CHUNKS; at += 1) {
    const from = at * perChunk + 1
    const plain = async () => {
      ms.unchained += await chunk(unchained, plainKeys, from, perChunk)
    }
    // Each begins as often.
    if ((at + round) % 2 === 0) await plain()
    const before = await bytes()
    ms.real += await chunk(real, keys, from, perChunk)
    const after = await bytes()
    grown.log += after.log - before.log
    grown.events += after.events - before.events
    if ((at + round) % 2 !== 0) await plain()
  }
  const [ours, plain] = [rateOf(ms.real), rateOf(ms.unchained)]
  const theirs = rateOf(await chunk(bare, keys, 1, perSession))
  const ids = keys.map(key => key.sessionId)
  const plainIds = plainKeys.map(key => key.sessionId)
  for (const [table, column, of] of [
    ['events', 'session_id', ids],
    ['events', 'session_id', plainIds],
    ['bare', 'session', ids],
  ] as const) {
    const { rows } = await db.query<{ id: string; count: number; newest: number }>(
      `select ${column} as id, count(*) as count, max(sequence) as newest from ${table} where ${column} = any($1) group by 1`,
      [of],
    )
    const whole = rows.length === SESSIONS && rows.every(row => row.count === perSession && row.newest === perSession)
    if (!whole) throw new Error(`${table} does not hold what was appended`)
  }
  if (round === 0) continue
  rates.real.push(ours)
  rates.unchained.push(plain)
  chainRatios.push(plain / ours)
  rates.bare.push(theirs)
  ratios.push(ours / theirs)
  perEvent.log.push(grown.log / (SESSIONS * perSession))
  perEvent.events.push(grown.events / (SESSIONS * perSession))
}
console.info(`append: ${show(median(rates.real), 0)}/s, bare insert: ${show(median(rates.bare), 0)}/s`)
console.info(`append without the chain: ${show(median(rates.unchained), 0)}/s`)
console.info(
  `time with the chain to that without: ${show(median(chainRatios))} (to reach: at most ${CHAIN_BOUND}); each round: ${chainRatios.map(each => show(each)).join(', ')}`,
)
console.info(`ratio: ${show(median(ratios))} (to reach: at least ${BOUND})`)
console.info(`of one Event: ${show(median(perEvent.log), 0)} B of log, ${show(median(perEvent.events), 0)} B on disk`)
