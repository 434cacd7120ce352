import { randomUUID } from 'node:crypto'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { expect, test } from 'vitest'
import { Booking } from './booking.ts'
import type { RequestRecord } from './gateway-request-sql.ts'

const record = (given: Partial<RequestRecord> = {}): RequestRecord => ({
  id: randomUUID(),
  organizationId: randomUUID(),
  credentialKind: 'ai_key',
  apiKeyId: null,
  installationId: null,
  personId: null,
  endUserId: null,
  sessionId: null,
  runId: null,
  wire: 'chat',
  provider: 'p',
  model: 'p/m',
  outcome: 'completed',
  errorCode: null,
  usage: null,
  costUsd: null,
  reservedUsd: null,
  holder: null,
  firstTokenMs: null,
  durationMs: 1,
  startedAt: new Date(),
  ...given,
})

/** A fake database that records every statement and can be taken offline. */
function scriptedDatabase() {
  const state = {
    away: false,
    kept: [] as { id: string; outcome: string }[][],
    /** For each statement, whether it waits for the disk. */
    flushed: [] as unknown[],
    /** While set, statements that wait for the disk block on it. */
    hold: undefined as PromiseWithResolvers<void> | undefined,
  }
  const query: Database['query'] = async statement => {
    if (state.away) throw new Error('away')
    const { name, values = [] } = typeof statement === 'string' ? { name: '' } : statement
    if (name !== 'keep-gateway-requests') return { rows: [], rowCount: 0 }
    state.flushed.push(values[2])
    if (values[2] === true) await state.hold?.promise
    state.kept.push(JSON.parse(String(values[0])))
    return { rows: [], rowCount: 0 }
  }
  return { state, db: { query, transaction: work => work({ query }) } satisfies Database }
}

test('a booking keeps records while the database is away and writes them once it is back', async () => {
  const { state, db } = scriptedDatabase()
  const failed = Promise.withResolvers<unknown>()
  const booking = new Booking(db, systemClock, failed.resolve)
  state.away = true
  const first = record()
  const kept = [booking.keep({ ...first, outcome: 'open' }), booking.keep(record())]
  await failed.promise
  // A later record of the same request replaces the one that still waits.
  kept.push(booking.keep(first))
  state.away = false
  await Promise.all(kept)
  const rows = state.kept.flat()
  expect(rows).toHaveLength(2)
  expect(rows.find(({ id }) => id === first.id)?.outcome).toBe('completed')
  await booking[Symbol.asyncDispose]()
})

test('a booking reports itself full, so the gateway serves nothing that it could not account for', async () => {
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

test('a booking settles a request whose row exists without waiting for other records or for the disk', async () => {
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

test("a booking writes a Run's request at once, and writes everything before it closes", async () => {
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
