import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemClock } from '../../kit/clock.ts'
import type { Database } from '../../storage/postgres/database.ts'
import { Booking } from './booking.ts'
import type { RequestRecord } from './gateway-request-sql.ts'

const record = (given: Partial<RequestRecord> = {}): RequestRecord => ({
  id: randomUUID(),
  organizationId: randomUUID(),
  credentialKind: 'ai_key',
  apiKeyId: null,
  sessionId: null,
  runId: null,
  wire: 'chat',
  provider: 'p',
  model: 'p/m',
  outcome: 'completed',
  errorCode: null,
  usage: null,
  costUsd: null,
  firstTokenMs: null,
  durationMs: 1,
  startedAt: new Date(),
  ...given,
})

/** A database that keeps what it was told, while it is there. */
function scriptedDatabase() {
  const state = {
    away: false,
    kept: [] as { id: string; outcome: string }[][],
    /** Of each statement: whether it waits for the disk. */
    flushed: [] as unknown[],
    /** What a statement that waits for the disk waits for. */
    hold: undefined as PromiseWithResolvers<void> | undefined,
  }
  const query: Database['query'] = async statement => {
    if (state.away) throw new Error('away')
    const values = typeof statement === 'string' ? [] : (statement.values ?? [])
    state.flushed.push(values[2])
    if (values[2] === true) await state.hold?.promise
    state.kept.push(JSON.parse(String(values[0])))
    return { rows: [], rowCount: 0 }
  }
  return { state, db: { query, transaction: work => work({ query }) } satisfies Database }
}

test('what is booked while the database is away waits, and is kept once it is back', async () => {
  const { state, db } = scriptedDatabase()
  const failed = Promise.withResolvers<unknown>()
  const booking = new Booking(db, systemClock, failed.resolve)
  state.away = true
  const first = record()
  const kept = [booking.keep({ ...first, outcome: 'open' }), booking.keep(record())]
  await failed.promise
  // What became of a request meanwhile takes the place of what waits.
  kept.push(booking.keep(first))
  state.away = false
  await Promise.all(kept)
  const rows = state.kept.flat()
  expect(rows).toHaveLength(2)
  expect(rows.find(({ id }) => id === first.id)?.outcome).toBe('completed')
  await booking[Symbol.asyncDispose]()
})

test('more than can wait is told, so that nothing is served that could not be accounted', async () => {
  const { state, db } = scriptedDatabase()
  state.away = true
  const failed = Promise.withResolvers<unknown>()
  const booking = new Booking(db, systemClock, failed.resolve)
  const kept = Array.from({ length: 9_999 }, () => booking.keep(record()))
  await failed.promise
  expect(booking.isFull).toBe(false)
  kept.push(booking.keep(record()))
  expect(booking.isFull).toBe(true)
  state.away = false
  await Promise.all(kept)
  expect(booking.isFull).toBe(false)
  expect(state.kept.flat()).toHaveLength(10_000)
})

test('the end of a request whose row is kept waits for no other, and not for the disk', async () => {
  const { state, db } = scriptedDatabase()
  const booking = new Booking(db, systemClock, () => {})
  const of = { runId: randomUUID(), sessionId: randomUUID() }
  state.hold = Promise.withResolvers<void>()
  const held = booking.keep(record(of))
  await booking.settle(record(of))
  await booking.settle(record(of))
  expect(state.flushed).toEqual([true, false, false])
  state.hold.resolve()
  await held
  await booking[Symbol.asyncDispose]()
})

test('what is settled of a Run is waited for by whoever asks, and by the end of all', async () => {
  const { state, db } = scriptedDatabase()
  const booking = new Booking(db, systemClock, () => {})
  const [runId, other] = [randomUUID(), randomUUID()]
  expect(booking.settled(runId)).toBeNull()
  const settling = booking.settle(record({ runId, sessionId: randomUUID() }))
  expect(booking.settled(other)).toBeNull()
  expect(booking.settled(runId)).toBeInstanceOf(Promise)
  await booking.settled(runId)
  expect(state.kept.flat()).toHaveLength(1)
  await settling
  expect(booking.settled(runId)).toBeNull()
  state.away = true
  const last = booking.settle(record({ runId, sessionId: randomUUID() }))
  setImmediate(() => setImmediate(() => (state.away = false)))
  await booking[Symbol.asyncDispose]()
  await last
  expect(state.kept.flat()).toHaveLength(2)
})

test("a Run's request does not wait for others to come, and the end waits for all", async () => {
  const { state, db } = scriptedDatabase()
  const booking = new Booking(db, systemClock, () => {})
  await booking.keep(record())
  const waits = booking.keep(record())
  expect(state.kept).toHaveLength(1)
  const run = booking.keep(record({ runId: randomUUID(), sessionId: randomUUID() }))
  await Promise.all([waits, run])
  expect(state.kept.map(batch => batch.length)).toEqual([1, 2])
  const last = booking.keep(record())
  await booking[Symbol.asyncDispose]()
  await last
  expect(state.kept).toHaveLength(3)
})
