import { randomUUID } from 'node:crypto'
import { endReservations, keepRequests, type RequestRecord } from '@berth/core/accounting/gateway-request-sql.ts'
import {
  findLostBudget,
  noteAnnounced,
  raiseLimit,
  reserveSpending,
  setSessionBudget,
} from '@berth/core/accounting/pausing-budgets.ts'
import { rollUpUsage } from '@berth/core/accounting/roll-up.ts'
import { type Quota, setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { insertSession } from '@berth/core/sessions/session/session-sql.ts'
import { hearProcess, leaveProcess } from '@berth/platform/processes/process-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase()
})
afterAll(() => test[Symbol.asyncDispose]())

const now = new Date()

/** The Run of a new Session, for requests. */
async function spender(limitUsd: number | null, organizationId?: string): Promise<RequestRecord> {
  const tenant =
    organizationId === undefined ? await createTenant(test.database) : { organizationId, installationId: randomUUID() }
  const key = { organizationId: tenant.organizationId, sessionId: randomUUID() }
  await insertSession(test.database, {
    key,
    owner: { kind: 'app_installation', id: tenant.installationId },
    initiatedBy: null,
    requestHash: Buffer.alloc(32),
    title: 'T',
    origin: null,
    source: null,
    model: null,
    effort: null,
    runtime: null,
    environmentId: null,
    now,
  })
  await test.database.transaction(tx => setSessionBudget(tx, key, limitUsd))
  const runId = randomUUID()
  await test.database.query(
    `insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at)
     values ($1, $2, $3, gen_random_uuid(), 'running', $4, $4)`,
    [key.organizationId, key.sessionId, runId, now],
  )
  return {
    ...key,
    ...{ id: randomUUID(), runId, credentialKind: 'runtime', wire: 'chat', provider: 'p', model: 'p/m' },
    ...{ apiKeyId: null, endUserId: null, personId: null, installationId: null, holder: 'h', startedAt: now },
    ...{
      outcome: 'open',
      errorCode: null,
      usage: null,
      costUsd: null,
      reservedUsd: null,
      firstTokenMs: null,
      durationMs: 1,
    },
  }
}

const keyOf = ({ organizationId, sessionId, runId }: RequestRecord) => ({
  organizationId,
  sessionId: sessionId ?? '',
  runId: runId ?? '',
})
const request = (of: RequestRecord, usd: number): RequestRecord => ({ ...of, id: randomUUID(), reservedUsd: usd })
const keep = (record: RequestRecord, at = now) => test.database.transaction(tx => keepRequests(tx, [record], at))
const reserve = (of: RequestRecord, usd: number) => reserveSpending(test.database, request(of, usd), now)
const settle = (opened: RequestRecord, costUsd: number | null, at = now) =>
  keep({ ...opened, outcome: 'completed', costUsd }, at)
const spend = async (of: RequestRecord, costUsd: number) => {
  const opened = request(of, 0)
  await keep(opened)
  await settle(opened, costUsd)
}
/** Opens a request that is to be granted. */
const open = async (of: RequestRecord, usd: number) => {
  const opened = request(of, usd)
  expect((await reserveSpending(test.database, opened, now)).kind).toBe('granted')
  return opened
}
const endRunOf = ({ runId }: RequestRecord) =>
  test.database.query("update runs set status = 'completed', ended_at = now() where id = $1", [runId])
const setQuota = (of: RequestRecord, quota: Partial<Quota>) =>
  test.database.transaction(tx =>
    setQuotaOf(tx, { organizationId: of.organizationId, period: 'day', onReached: 'pause', ...quota }, now),
  )
/** The budgets of an organization: scope, spent and reserved. */
const counted = async (of: RequestRecord, at = now) => {
  const { budgets } = await reserveSpending(test.database, request(of, 0), at)
  return Object.fromEntries(budgets.map(({ scope, ...budget }) => [scope, [budget.spent_usd, budget.reserved_usd]]))
}

describe('a budget at which Runs wait', () => {
  it('lets one request at most lead over it, however many ask at once', async () => {
    const of = await spender(1)
    let [granted, over, spent] = [0, 0, 0]
    const ask = async () => {
      for (;;) {
        const opened = request(of, 0.4)
        const { kind } = await reserveSpending(test.database, opened, now)
        if (kind === 'reached') return
        if (kind === 'taken') continue
        granted += 1
        if (spent >= 1) over += 1
        spent += 0.4
        await settle(opened, 0.4)
      }
    }
    await Promise.all(Array.from({ length: 16 }, ask))
    expect([granted, over]).toEqual([3, 0])
    expect(await counted(of)).toEqual({ session: [expect.closeTo(1.2), 0] })
  })

  it('counts a request that was lost with its gateway as the most that it may have cost', async () => {
    const of = await spender(1)
    const first = await open(of, 0.7)
    await open(of, 0.7)
    expect((await reserve(of, 0.1)).kind).toBe('taken')
    // One of both is known to have failed at a cost that nobody knows.
    await settle(first, null)
    expect(await reserve(of, 0.1)).toMatchObject({
      kind: 'taken',
      budgets: [{ spent_usd: 0.7, reserved_usd: expect.closeTo(0.7), unreported: false }],
    })
  })

  it('lets whatever fits go on side by side, and says once that most is spent', async () => {
    const of = await spender(1)
    const opened = await Promise.all(Array.from({ length: 8 }, () => open(of, 0.05)))
    for (const one of opened) await settle(one, 0.1)
    expect((await reserve(of, 0.05)).budgets).toMatchObject([
      { scope: 'session', spent_usd: expect.closeTo(0.8), unreported: true },
    ])
  })

  it('does not hold Runs to budgets that refuse, nor to those of other Sessions', async () => {
    const one = await spender(1)
    const other = await spender(null, one.organizationId)
    await setQuota(one, { limitUsd: 0, onReached: 'refuse' })
    await spend(one, 5)
    expect(await reserve(other, 1)).toEqual({ kind: 'granted', budgets: [] })
    expect((await reserve(one, 1)).kind).toBe('reached')
  })

  it('holds what is open when it is set or begins to let Runs wait, and frees just that', async () => {
    const of = await spender(1)
    const other = await spender(null, of.organizationId)
    const first = await open(of, 0.4)
    // Of a Run without such a budget: nothing holds it yet.
    const second = request(other, 0.3)
    await keep(second)
    await keep(second)
    await setQuota(of, { limitUsd: 9, onReached: 'refuse' })
    await setQuota(of, { limitUsd: 5, period: 'month' })
    expect(await counted(of)).toEqual({ session: [0, 0.4], organization: [0, 0.7] })
    await setQuota(of, {})
    await setQuota(of, { limitUsd: 8 })
    const both = async () => (await reserve(other, 0)).budgets.map(budget => [budget.spent_usd, budget.reserved_usd])
    expect(await both()).toEqual([
      [0, 0.7],
      [0, 0.7],
    ])
    await test.database.transaction(tx => setSessionBudget(tx, keyOf(other), 2))
    expect(await counted(other)).toMatchObject({ session: [0, 0.3] })
    await settle(first, 0.1)
    await settle(second, 0.2)
    expect(await counted(of)).toEqual({ session: [0.1, 0], organization: [expect.closeTo(0.3), 0] })
    expect(await counted(other)).toMatchObject({ session: [0.2, 0] })
  })

  it.each(['settled', 'set'] as const)('loses no cost if the other comes while one is %s', async first => {
    const of = await spender(null)
    const opened = request(of, 0.4)
    await keep(opened)
    const settling = (tx: Queryable) => keepRequests(tx, [{ ...opened, outcome: 'completed', costUsd: 0.1 }], now)
    const setting = (tx: Queryable) => setSessionBudget(tx, keyOf(of), 1)
    const [before, after] = first === 'settled' ? [settling, setting] : [setting, settling]
    let late: Promise<void> | undefined
    await test.database.transaction(async tx => {
      await before(tx)
      late = test.database.transaction(after)
      const waiting = until('the other to wait', async () => {
        const text = "select 1 from pg_locks where locktype = 'advisory' and not granted"
        return (await test.database.query(text)).rows.length > 0
      })
      await Promise.race([late, waiting])
    })
    await late
    expect(await counted(of)).toEqual({ session: [0.1, 0] })
  })

  it('counts anew what its period has spent once it lets Runs wait', async () => {
    const of = await spender(null)
    await setQuota(of, { limitUsd: 1, onReached: 'refuse' })
    await spend(of, 0.6)
    await test.database.query('update gateway_budgets set spent_usd = 0.1 where organization_id = $1', [
      of.organizationId,
    ])
    await setQuota(of, {})
    expect(await counted(of)).toEqual({ organization: [0.6, 0] })
    await setQuota(of, { limitUsd: 0.5 })
    expect((await reserve(of, 0.1)).kind).toBe('reached')
  })

  it('begins with all that its period has spent, lately and before', async () => {
    const of = await spender(null)
    const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000)
    for (const [hours, usd] of [
      [0, 1],
      [1, 2],
      [3, 4],
    ] as const) {
      const opened = { ...request(of, 0), startedAt: hoursAgo(hours) }
      await keep(opened)
      await settle(opened, usd)
    }
    await setQuota(of, { limitUsd: 100, period: 'total' })
    expect(await counted(of)).toEqual({ organization: [7, 0] })
  })

  it('holds what requests under way may cost over the end of a period, and frees just that', async () => {
    const of = await spender(null)
    await setQuota(of, { limitUsd: 1 })
    await spend(of, 0.9)
    const id = (await reserve(of, 0)).budgets[0]?.id ?? ''
    expect(await noteAnnounced(test.database, of.organizationId, id, now)).toBe(true)
    const opened = await open(of, 1.2)
    const tomorrow = new Date(now.getTime() + 86_400_000)
    const next = await reserveSpending(test.database, request(of, 0.5), tomorrow)
    expect(next).toMatchObject({ kind: 'taken', budgets: [{ spent_usd: 0, reserved_usd: 1.2 }] })
    await settle(opened, 0.8, tomorrow)
    const { budgets } = await reserveSpending(test.database, request(of, 0), tomorrow)
    expect(budgets).toMatchObject([{ spent_usd: 0.8, reserved_usd: 0, unreported: true }])
  })

  it('counts what a lost request has reserved as spent once its Run has ended', async () => {
    const of = await spender(1)
    const lost = await open(of, 0.7)
    const end = (runId: string) => test.database.transaction(tx => endReservations(tx, { ...keyOf(of), runId }, now))
    await end(randomUUID())
    expect(await counted(of)).toEqual({ session: [0, 0.7] })
    await end(lost.runId ?? '')
    await end(lost.runId ?? '')
    // A settlement that comes after all is too late.
    await settle(lost, 0.1)
    expect(await counted(of)).toEqual({ session: [0.7, expect.closeTo(0)] })
  })

  it('does not hold what was left open by a Run that has ended', async () => {
    const of = await spender(null)
    const [lost, late, after] = [request(of, 0.7), request(of, 0.6), request(of, 0.5)]
    for (const one of [lost, late]) await keep(one)
    await test.database.transaction(tx => endReservations(tx, keyOf(of), now))
    const outcomes = async () => {
      const text =
        'select outcome, cost_usd::float8 as cost from gateway_requests where session_id = $1 and reserved_usd > 0 order by reserved_usd'
      return (await test.database.query(text, [of.sessionId])).rows.map(row => Object.values(row))
    }
    expect(await outcomes()).toEqual([
      ['left', null],
      ['left', null],
    ])
    await keep(after)
    await endRunOf(of)
    await test.database.transaction(tx => setSessionBudget(tx, keyOf(of), 1))
    expect(await counted(of)).toEqual({ session: [0, 0] })
    // Its cost is counted once, however often it is settled.
    for (const usd of [0.2, 0.2, 0.3]) await settle(late, usd)
    expect(await outcomes()).toEqual([
      ['open', null],
      ['completed', 0.2],
      ['left', null],
    ])
    expect(await counted(of)).toEqual({ session: [0.2, 0] })
  })

  it('counts what a request holds that was opened while its Run ended, and is summed up only then', async () => {
    const of = await spender(1)
    const other = await spender(null, of.organizationId)
    await setQuota(of, { limitUsd: 5 })
    await open(other, 0.1)
    await open({ ...of, startedAt: new Date('2000-01-01') }, 0.7)
    await endRunOf(of)
    const { budgets } = await reserve(of, 0)
    const ids = budgets.map(({ id }) => id)
    const sumUp = () => rollUpUsage(test.database, new Date('2000-01-02'), new AbortController().signal)
    expect(await sumUp()).toBe(0)
    expect(await findLostBudget(test.database, of.organizationId, ids, 'h', now)).toBeNull()
    expect(await counted(of)).toEqual({ session: [0.7, 0], organization: [0.7, 0.1] })
    expect(await sumUp()).toBe(1)
  })

  it('is not written by a request that it does not hold', async () => {
    const of = await spender(1)
    await setQuota(of, { limitUsd: 9, onReached: 'refuse' })
    const versions = async () => {
      const text = 'select on_reached, xmin::text from gateway_budgets where organization_id = $1 order by on_reached'
      return (await test.database.query<{ xmin: string }>(text, [of.organizationId])).rows.map(({ xmin }) => xmin)
    }
    const [pausing, refusing] = await versions()
    await open(of, 0.1)
    expect(await versions()).toEqual([expect.not.stringMatching(`^${pausing}$`), refusing])
  })

  it('is lost to requests whose process is gone, and to no others', async () => {
    const of = await spender(1)
    const { organizationId } = of
    const processes = ['asking', 'serving'].map(id => ({
      ...{ id, host: 'h', roles: [], release: null },
      patienceMs: 60_000,
    }))
    for (const each of processes) await hearProcess(test.database, each)
    await open({ ...of, holder: 'serving' }, 0.6)
    const { budgets } = await reserve({ ...of, holder: 'asking' }, 0.7)
    const ids = budgets.map(({ id }) => id)
    expect((await reserve(of, 0.1)).kind).toBe('taken')
    const lost = async () => (await findLostBudget(test.database, organizationId, ids, 'asking', now))?.scope ?? null
    expect(await lost()).toBeNull()
    await leaveProcess(test.database, 'serving')
    // What is left is held by a request that ends.
    expect(await lost()).toBeNull()
    await test.database.transaction(tx => setSessionBudget(tx, keyOf(of), 0.5))
    expect(await lost()).toBe('session')
    await test.database.query("delete from processes where id = 'serving'")
    expect(await lost()).toBe('session')
  })

  it('keeps a raise that comes while only what happens at the limit is set', async () => {
    const of = await spender(null)
    await setQuota(of, { limitUsd: 1 })
    const id = (await reserve(of, 0)).budgets[0]?.id ?? ''
    await raiseLimit(test.database, of.organizationId, id, 4, now)
    await setQuota(of, {})
    expect((await reserve(of, 0)).budgets).toMatchObject([{ limit_usd: 5 }])
    expect(await raiseLimit(test.database, randomUUID(), id, 4, now)).toBeNull()
  })

  it('is raised by each of those who raise it at once', async () => {
    const of = await spender(1)
    await spend(of, 1.5)
    const id = (await reserve(of, 1)).budgets[0]?.id ?? ''
    await Promise.all([1, 2, 4].map(byUsd => raiseLimit(test.database, of.organizationId, id, byUsd, now)))
    // The first one begins at what is spent.
    expect((await reserve(of, 0)).budgets).toMatchObject([{ limit_usd: 8.5, spent_usd: 1.5 }])
    expect(await raiseLimit(test.database, of.organizationId, id, 1e9, now)).toBe(1e9)
  })
})
