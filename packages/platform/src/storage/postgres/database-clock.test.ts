import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ClockKeeper, DatabaseClock } from './database-clock.ts'

const HOUR_MS = 3_600_000

/** A database's clock, this machine's, and a count that no one sets. */
let times: { database: number; machine: number; count: number }
/** How long the database takes before it reads its clock, and after. */
let takes: { before: number; after: number }

function pass(ms: number): void {
  for (const name of ['database', 'machine', 'count'] as const) times[name] += ms
}

const sources = {
  ask: async () => {
    pass(takes.before)
    const read = times.database
    pass(takes.after)
    return read
  },
  count: () => times.count,
  machine: () => times.machine,
}

beforeEach(() => {
  times = { database: 1_000_000_000, machine: 1_000_000_000, count: 5_000 }
  takes = { before: 1, after: 1 }
})

const errorOf = (clock: DatabaseClock) => clock.now().getTime() - times.database

describe('a clock of the database', () => {
  it('counts on by itself, whatever this machine is set to', async () => {
    const clock = new DatabaseClock(sources)
    await clock.read()
    pass(10_000)
    times.machine += HOUR_MS
    expect(errorOf(clock)).toBe(0)
    expect(clock.machineAheadMs).toBe(HOUR_MS)
  })

  it('is not moved by an answer that came late', async () => {
    const clock = new DatabaseClock(sources)
    await clock.read()
    takes = { before: 0, after: 30_000 }
    expect(await clock.read()).toBe(0)
    takes = { before: 30_000, after: 0 }
    expect(await clock.read()).toBe(0)
    expect(errorOf(clock)).toBe(0)
  })

  it('gets truer with each quicker answer', async () => {
    takes = { before: 0, after: 4_000 }
    const clock = new DatabaseClock(sources)
    await clock.read()
    expect(errorOf(clock)).toBe(-2_000)
    takes = { before: 5, after: 5 }
    await clock.read()
    expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(10)
  })

  it.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('goes with the database to one that is an hour %s', async (_, setMs) => {
    const clock = new DatabaseClock(sources)
    await clock.read()
    clock.now()
    times.database += setMs
    const read = await clock.read()
    expect(Math.abs(read - setMs)).toBeLessThanOrEqual(2)
    expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(2)
  })

  it('stands still rather than go back a few seconds', async () => {
    const clock = new DatabaseClock(sources)
    await clock.read()
    const before = clock.now()
    times.database -= 3_000
    await clock.read()
    expect(clock.now()).toEqual(before)
    pass(2_900)
    expect(clock.now()).toEqual(before)
    pass(1_000)
    expect(Math.abs(errorOf(clock))).toBeLessThanOrEqual(2)
  })
})

describe('the keeper of a clock', () => {
  let test: TestDatabase
  beforeAll(async () => {
    test = await createTestDatabase()
  })
  afterAll(() => test[Symbol.asyncDispose]())

  it('has the time of a real database once it has started', async () => {
    const keeper = new ClockKeeper({ db: test.database, log: silentLog }, 60_000)
    await keeper.begin()
    const readings = async () =>
      (await test.database.query<{ at: Date }>('select clock_timestamp() as at')).rows[0]?.at.getTime() ?? Number.NaN
    const [before, seen, after] = [await readings(), keeper.clock.now().getTime(), await readings()]
    // Half the time that the quickest of its first questions took.
    expect(seen).toBeGreaterThan(before - 1_000)
    expect(seen).toBeLessThan(after + 1_000)
  })

  it.each([
    ['a database whose clock was set', 'database', "the database's clock was set"],
    ['a machine whose clock is wrong', 'machine', "this machine's clock and the database's are apart"],
  ] as const)('tells once of %s', async (_, which, count) => {
    const warned: string[] = []
    const log = { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) }
    const keeper = new ClockKeeper({ db: test.database, log: log as never }, 60_000, sources)
    await keeper.begin()
    times[which] += HOUR_MS
    if (which === 'database') times.machine += HOUR_MS
    for (let round = 0; round < 3; round += 1) await keeper.round()
    expect(warned).toEqual([expect.stringContaining(count)])
  })
})
