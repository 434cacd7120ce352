import { ApiError } from '@berth/platform/kit/api-error.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { startStreamingApp } from '@berth/testing/events/streaming-app.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Principal } from '../../src/identity/guard/principal.ts'
import { StreamBudget } from '../../src/sessions/streams/stream-budget.ts'
import { StreamLedger } from '../../src/sessions/streams/stream-ledger.ts'

let made: TestDatabase
beforeAll(async () => {
  made = await createTestDatabase()
})
afterAll(() => made[Symbol.asyncDispose]())

const asPerson = {
  kind: 'person',
  membershipId: 'm',
  signInId: 's',
  role: 'member',
  permissions: new Set<never>(),
} as const

let named = 0
/** A principal that no other test counts. */
const installation = (): Principal => ({
  kind: 'app_installation',
  id: `i${named++}`,
  organizationId: 'o',
  capabilities: new Set(),
  expiresAt: null,
})

/** The budget of one process. */
function budget({ perAuthority = 64, perProcess = 256, db = made.database as Queryable, renewalMs = 3_600_000 } = {}) {
  const ledger = new StreamLedger(db, silentLog, perAuthority, { renewalMs })
  const renewals = new PeriodicTasks([ledger])
  onTestFinished(() => ledger[Symbol.asyncDispose]())
  onTestFinished(() => renewals[Symbol.asyncDispose]())
  return Object.assign(new StreamBudget(ledger, perProcess), { ledger, renewals })
}

const refusal = (open: Promise<unknown>) =>
  open.then(
    () => null,
    error => {
      if (error instanceof ApiError) return [error.status, error.code, error.headers, error.fields]
      throw error
    },
  )

const take = (from: StreamBudget, principal: Principal, count: number) =>
  Promise.all(Array.from({ length: count }, () => from.take(principal)))

const rows = async ({ id }: Principal) =>
  (await made.database.query<{ held: number }>('select held from open_streams where authority like $1', [`%/${id}`]))
    .rows

const spent = [429, 'cloud_rate_limit_exceeded', { 'retry-after': '2' }, { retryAfterSeconds: 2 }]
const full = [503, 'event_stream_unavailable', { 'retry-after': '2' }, {}]

describe('the budget of streams', () => {
  test('is 64 for an authority', async () => {
    const ours = budget()
    const [a, b] = [installation(), installation()]
    await take(ours, a, 64)
    expect(await refusal(ours.take(a))).toEqual(spent)
    await take(ours, b, 64)
    expect(ours.open).toBe(128)
  })

  test('is 256 for a process', async () => {
    const ours = budget()
    const authorities = [installation(), installation(), installation(), installation()]
    for (const authority of authorities) await take(ours, authority, 64)
    expect(await refusal(ours.take(installation()))).toEqual(full)
    expect(await refusal(ours.take(authorities[0] as Principal))).toEqual(spent)
    expect(ours.open).toBe(256)
  })

  test('tells authorities apart by kind and by organization', async () => {
    const ours = budget({ perAuthority: 1, perProcess: 9 })
    const one = installation()
    for (const other of [one, { ...one, ...asPerson }, { ...one, organizationId: 'p' }]) await ours.take(other)
    expect(ours.open).toBe(3)
  })

  test('takes a place back only once, however often it is returned', async () => {
    const ours = budget({ perAuthority: 2, perProcess: 3 })
    const [a, b] = [installation(), installation()]
    const [first] = await take(ours, a, 2)
    await ours.take(b)
    expect(await refusal(ours.take(b))).toEqual(full)
    first?.[Symbol.dispose]()
    first?.[Symbol.dispose]()
    expect(ours.open).toBe(2)
    await ours.take(a)
    expect(await refusal(ours.take(a))).toEqual(spent)
    expect(await refusal(ours.take(b))).toEqual(full)
  })
})

describe('the budget of an authority in several processes', () => {
  test('is shared, and one process may take a place that another returned', async () => {
    const [ours, there] = [budget({ perAuthority: 3 }), budget({ perAuthority: 3 })]
    const one = installation()
    const [first] = await take(ours, one, 2)
    await there.take(one)
    expect([await refusal(ours.take(one)), await refusal(there.take(one))]).toEqual([spent, spent])
    expect([ours.open, there.open]).toEqual([2, 1])
    first?.[Symbol.dispose]()
    await until('a place that was given back', async () => (await refusal(there.take(one))) === null)
    expect(await refusal(ours.take(one))).toEqual(spent)
  })

  test('is spent to the last place and no further by concurrent opens', async () => {
    const processes = [budget(), budget(), budget()]
    const one = installation()
    const opens = processes.flatMap(each => Array.from({ length: 50 }, () => refusal(each.take(one))))
    const answers = await Promise.all(opens)
    expect(answers.filter(answer => answer === null)).toHaveLength(64)
    expect(answers.filter(answer => answer?.[0] === 429)).toHaveLength(86)
  })

  test('recovers the places of a process that died', async () => {
    const [ours, gone] = [budget({ perAuthority: 2 }), budget({ perAuthority: 2 })]
    const one = installation()
    await take(gone, one, 2)
    expect(await refusal(ours.take(one))).toEqual(spent)
    await made.database.query(
      "update open_streams set expires_at = clock_timestamp() where authority like '%/' || $1",
      [one.id],
    )
    await take(ours, one, 2)
    expect(await refusal(ours.take(one))).toEqual(spent)
  })

  test('recovers at once the places of a process that stops', async () => {
    const [ours, other] = [budget({ perAuthority: 1 }), budget({ perAuthority: 1 })]
    const one = installation()
    await other.take(one)
    await other.ledger[Symbol.asyncDispose]()
    await ours.take(one)
  })

  test('is kept by a live process and restored after the database lost it', async () => {
    // bound: a pause between two looks
    const ours = budget({ perAuthority: 1, renewalMs: 20 })
    await ours.renewals.start()
    const one = installation()
    await ours.take(one)
    await made.database.query(
      "update open_streams set expires_at = clock_timestamp() where authority like '%/' || $1",
      [one.id],
    )
    const {
      rows: [{ at } = { at: null }],
    } = await made.database.query<{ at: Date | null }>('select now() as at')
    const kept = `select 1 from open_streams where authority like '%/' || $1 and expires_at > $2`
    await until('a renewal', async () => (await made.database.query(kept, [one.id, at])).rows.length === 1)
    await made.database.query("delete from open_streams where authority like '%/' || $1", [one.id])
    await until('the row again', async () => (await rows(one)).length === 1)
    expect(await refusal(budget({ perAuthority: 1 }).take(one))).toEqual(spent)
  })

  test('is not spent by an open whose answer was lost with the database', async () => {
    let away = false
    const db: Queryable = {
      query: async (statement, values) => {
        const answer = await made.database.query(statement, values)
        if (away && typeof statement !== 'string' && statement.name === 'hold-streams')
          throw new DatabaseUnavailable(new Error('struck'))
        return answer as never
      },
    }
    // bound: a pause between two looks
    const ours = budget({ perAuthority: 2, db, renewalMs: 20 })
    const [one, other] = [installation(), installation()]
    away = true
    await expect(ours.take(one)).rejects.toThrow(DatabaseUnavailable)
    away = false
    expect([ours.open, await rows(one)]).toEqual([0, [{ held: 1 }]])
    await ours.take(other)
    await ours.renewals.start()
    await until('that nothing is held', async () => (await rows(one)).length === 0)
  })

  test('is right again after an open whose connection was cut was committed after those that followed it', async () => {
    let late: (() => Promise<unknown>) | undefined
    const db: Queryable = {
      query: async (statement, values) => {
        if (late === undefined && typeof statement !== 'string' && statement.name === 'hold-streams') {
          late = () => made.database.query(statement, values)
          throw new DatabaseUnavailable(new Error('struck'))
        }
        return (await made.database.query(statement, values)) as never
      },
    }
    // bound: a pause between two looks
    const ours = budget({ db, renewalMs: 20 })
    const one = installation()
    await expect(ours.take(one)).rejects.toThrow(DatabaseUnavailable)
    await take(ours, one, 2)
    await late?.()
    expect([ours.open, await rows(one)]).toEqual([2, [{ held: 1 }]])
    await ours.renewals.start()
    const counted = async () => (await rows(one)).map(({ held }) => held)
    await until('both streams in the row', async () => (await counted()).join() === '2')
  })
})

test('an open stream costs one statement when it opens, one when it closes, and none for its frames', async () => {
  await using app = await startStreamingApp(made)
  const { apiKey } = await createTenant(made.database)
  const leave = new AbortController()
  const { status } = await fetch(`${app.url}/v1/sessions/stream`, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: leave.signal,
  })
  expect([status, app.statements.count('hold-streams')]).toEqual([200, 1])
  leave.abort()
  await until('the place to be given back', () => app.statements.count('hold-streams') === 2)
})
