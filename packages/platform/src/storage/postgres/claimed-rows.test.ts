import { randomUUID } from 'node:crypto'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ClaimedRows } from './claimed-rows.ts'

interface Chore {
  readonly id: string
  readonly status: string
  readonly due_at: Date
  readonly failures: number
}

const chores = new ClaimedRows<Chore>({
  table: 'chores_of_a_test',
  key: ['session_id', 'id'],
  due: "r.status = 'open' and r.due_at <= $1 and r.host = $4",
  order: 'r.due_at',
})
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const by = (second: number) => ({ now: at(second), until: at(second + 10) })

let made: TestDatabase
beforeAll(async () => {
  made = await createTestDatabase()
  await made.database.query(`
    create table chores_of_a_test (organization_id uuid, session_id uuid, id text, host text, status text not null,
      due_at timestamptz not null, failures integer not null default 0, claim uuid unique, claimed_until timestamptz,
      primary key (session_id, id))`)
})
beforeEach(async () => {
  await made.database.query('delete from chores_of_a_test')
  await made.database.query(
    `insert into chores_of_a_test (organization_id, session_id, id, host, status, due_at)
     values ($1, $1, 'late', 'here', 'open', $3), ($1, $1, 'soon', 'here', 'open', $2), ($1, $1, 'far', 'there', 'open', $2)`,
    [randomUUID(), at(0), at(1)],
  )
})
afterAll(() => made[Symbol.asyncDispose]())

async function claim(second: number, limit = 10) {
  return chores.claim(made.database, by(second), limit, ['here'])
}

async function claimOne(second: number) {
  const [row] = await claim(second, 1)
  if (row === undefined) throw new Error('nothing was claimed')
  return row
}

it('claims rows that are due and meet the condition, the first that is due first, and each once', async () => {
  const soon = await claimOne(0)
  expect(soon.id).toBe('soon')
  expect(await claim(0)).toEqual([])
  expect((await claim(5)).map(({ id }) => id)).toEqual(['late'])
  expect(await chores.release(made.database, soon.claim, {})).toMatchObject({ claim: null, status: 'open' })
})

it('gives a claim that was not renewed to the next worker, and the old one then changes nothing', async () => {
  const old = await claimOne(0)
  expect(await chores.renew(made.database, old.claim, at(20))).toBe(true)
  expect((await claim(15)).map(({ id }) => id)).toEqual(['late'])
  const next = await claimOne(21)
  expect(next.id).toBe('soon')
  expect(await chores.renew(made.database, old.claim, at(99))).toBe(false)
  expect(await chores.release(made.database, old.claim, { status: 'done' })).toBeNull()
  await chores.defer(made.database, old.claim, at(99))
  expect(await chores.release(made.database, next.claim, { status: 'done' })).toMatchObject({
    status: 'done',
    failures: 0,
    due_at: at(0),
  })
})

it('counts the failures of a row that it defers, and claims the row again when it is due', async () => {
  const { claim: token } = await claimOne(0)
  await chores.defer(made.database, token, at(2))
  expect((await claim(1)).map(({ id }) => id)).toEqual(['late'])
  expect(await claimOne(2)).toMatchObject({ id: 'soon', failures: 1 })
})

it('writes the outcome and releases the row at once', async () => {
  const { claim: token } = await claimOne(0)
  expect(await chores.release(made.database, token, { status: 'parked', due_at: at(3) })).toMatchObject({
    status: 'parked',
    claim: null,
    claimed_until: null,
  })
  expect(await chores.renew(made.database, token, at(9))).toBe(false)
})

it('refuses a name that is none of the code', async () => {
  expect(() => new ClaimedRows({ table: 'a; drop table b', key: ['id'], due: 'true' })).toThrow('is not the name')
  const columns = { ['status" = 1, "x']: 'y' } as Partial<Chore>
  await expect(chores.release(made.database, randomUUID(), columns)).rejects.toThrow('is not the name')
})
