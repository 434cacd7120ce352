import { randomUUID } from 'node:crypto'
import { endReservations, keepRequests, type RequestRecord } from '@berth/core/accounting/gateway-request-sql.ts'
import { raiseLimit, reserveSpending, type Spender, setSessionBudget } from '@berth/core/accounting/pausing-budgets.ts'
import { setQuotaOf } from '@berth/core/accounting/set-quota.ts'
import { insertSession } from '@berth/core/sessions/session/session-sql.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase()
})
afterAll(() => test[Symbol.asyncDispose]())

const now = new Date()

async function spender(limitUsd: number | null, organizationId?: string): Promise<Spender> {
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
  await setSessionBudget(test.database, key, limitUsd)
  return { ...key, personId: null, installationId: null }
}

const record = (of: Spender, given: Partial<RequestRecord>): RequestRecord => ({
  id: randomUUID(),
  credentialKind: 'runtime',
  apiKeyId: null,
  endUserId: null,
  runId: randomUUID(),
  wire: 'chat',
  provider: 'p',
  model: 'p/m',
  outcome: 'completed',
  errorCode: null,
  usage: null,
  costUsd: null,
  reservedUsd: null,
  reservedIn: [],
  firstTokenMs: null,
  durationMs: 1,
  startedAt: now,
  ...of,
  ...given,
})

const reserve = (of: Spender, usd: number) => reserveSpending(test.database, of, usd, now)
const settle = async (of: Spender, costUsd: number | null, reservedUsd: number) => {
  const { budgets } = await reserve(of, 0)
  await keepRequests(
    test.database,
    [record(of, { costUsd, reservedUsd, reservedIn: budgets.map(({ id }) => id) })],
    now,
  )
}

describe('a budget at which Runs wait', () => {
  it('lets one request at most lead over it, however many ask at once', async () => {
    const of = await spender(1)
    let [granted, over] = [0, 0]
    let [spent, open] = [0, 0]
    const ask = async () => {
      for (;;) {
        const { kind } = await reserve(of, 0.4)
        if (kind === 'reached') return
        if (kind === 'taken') continue
        granted += 1
        open += 1
        if (spent >= 1) over += 1
        spent += 0.4
        await settle(of, 0.4, 0.4)
        open -= 1
      }
    }
    await Promise.all(Array.from({ length: 16 }, ask))
    expect([granted, over, open]).toEqual([3, 0, 0])
    const { budgets } = await reserve(of, 0.4)
    expect(budgets).toMatchObject([{ spent_usd: expect.closeTo(1.2), reserved_usd: 0 }])
  })

  it('counts a request that was lost with its gateway as the most that it may have cost', async () => {
    const of = await spender(1)
    expect((await reserve(of, 0.7)).kind).toBe('granted')
    expect((await reserve(of, 0.7)).kind).toBe('granted')
    expect((await reserve(of, 0.1)).kind).toBe('taken')
    // One of both is known to have failed at a cost that nobody knows.
    await settle(of, null, 0.7)
    expect(await reserve(of, 0.1)).toMatchObject({
      kind: 'taken',
      budgets: [{ spent_usd: 0.7, reserved_usd: expect.closeTo(0.7), untold: false }],
    })
  })

  it('lets whatever fits go on side by side, and says once that most is spent', async () => {
    const of = await spender(1)
    const kinds = await Promise.all(Array.from({ length: 8 }, () => reserve(of, 0.05)))
    expect(kinds.map(({ kind }) => kind)).toEqual(Array.from({ length: 8 }, () => 'granted'))
    for (let n = 0; n < 8; n += 1) await settle(of, 0.1, 0.05)
    expect((await reserve(of, 0.05)).budgets).toMatchObject([
      { scope: 'session', spent_usd: expect.closeTo(0.8), untold: true },
    ])
  })

  it('does not hold Runs to budgets that refuse, nor to those of other Sessions', async () => {
    const one = await spender(1)
    const other = await spender(null, one.organizationId)
    await setQuotaOf(test.database, { organizationId: one.organizationId, period: 'day', limitUsd: 0 }, now)
    await settle(one, 5, 0)
    expect(await reserve(other, 1)).toEqual({ kind: 'granted', budgets: [] })
    expect((await reserve(one, 1)).kind).toBe('reached')
  })

  it('frees nothing that it does not hold, whatever was set while a request was under way', async () => {
    const of = await spender(1)
    const { budgets } = await reserve(of, 0.4)
    const day = { organizationId: of.organizationId, period: 'day', limitUsd: 1, onReached: 'pause' } as const
    await setQuotaOf(test.database, day, now)
    expect((await reserve(of, 0.4)).kind).toBe('granted')
    const first = { costUsd: 0.1, reservedUsd: 0.4, reservedIn: budgets.map(({ id }) => id) }
    await keepRequests(test.database, [record(of, first)], now)
    const { budgets: after } = await reserve(of, 9)
    expect(after.map(budget => [budget.scope, budget.spent_usd, budget.reserved_usd])).toEqual(
      expect.arrayContaining([
        ['session', 0.1, expect.closeTo(0.4)],
        ['organization', 0.1, expect.closeTo(0.4)],
      ]),
    )
  })

  it('counts anew what its period has spent once it lets Runs wait', async () => {
    const of = await spender(null)
    const day = { organizationId: of.organizationId, period: 'day', limitUsd: 1 } as const
    await setQuotaOf(test.database, day, now)
    await settle(of, 0.6, 0)
    await test.database.query('update gateway_budgets set spent_usd = 0.1 where organization_id = $1', [
      of.organizationId,
    ])
    await setQuotaOf(test.database, { ...day, onReached: 'pause' }, now)
    expect((await reserve(of, 0.1)).budgets).toMatchObject([{ scope: 'organization', spent_usd: 0.6 }])
    await setQuotaOf(test.database, { ...day, limitUsd: 0.5 }, now)
    expect((await reserve(of, 0.1)).kind).toBe('reached')
  })

  it('holds what requests under way may cost over the end of a period, and frees just that', async () => {
    const of = await spender(null)
    const day = { organizationId: of.organizationId, period: 'day', limitUsd: 1, onReached: 'pause' } as const
    await setQuotaOf(test.database, day, now)
    await settle(of, 0.1, 0)
    const { budgets } = await reserve(of, 1.2)
    const tomorrow = new Date(now.getTime() + 86_400_000)
    const next = await reserveSpending(test.database, of, 0.5, tomorrow)
    expect(next).toMatchObject({ kind: 'taken', budgets: [{ spent_usd: 0, reserved_usd: 1.2 }] })
    const first = { costUsd: 0.3, reservedUsd: 1.2, reservedIn: budgets.map(({ id }) => id) }
    await keepRequests(test.database, [record(of, first)], tomorrow)
    expect((await reserveSpending(test.database, of, 0, tomorrow)).budgets).toMatchObject([
      { spent_usd: 0.3, reserved_usd: 0 },
    ])
  })

  it('counts what a lost request has reserved as spent once its Run has ended', async () => {
    const of = await spender(1)
    const { budgets } = await reserve(of, 0.7)
    const lost = record(of, { outcome: 'open', reservedUsd: 0.7, reservedIn: budgets.map(({ id }) => id) })
    await keepRequests(test.database, [lost], now)
    const { organizationId, sessionId } = of
    const end = (runId: string) => endReservations(test.database, { organizationId, sessionId, runId }, now)
    await end(randomUUID())
    expect((await reserve(of, 0)).budgets).toMatchObject([{ spent_usd: 0, reserved_usd: 0.7 }])
    await end(lost.runId ?? '')
    await end(lost.runId ?? '')
    // A settlement that comes after all is too late.
    await keepRequests(test.database, [{ ...lost, outcome: 'completed', costUsd: 0.1 }], now)
    expect((await reserve(of, 0)).budgets).toMatchObject([{ spent_usd: 0.7, reserved_usd: expect.closeTo(0) }])
  })

  it('keeps a raise that comes while only what happens at the limit is set', async () => {
    const of = await spender(null)
    const day = { organizationId: of.organizationId, period: 'day' } as const
    await setQuotaOf(test.database, { ...day, limitUsd: 1, onReached: 'pause' }, now)
    const id = (await reserve(of, 0)).budgets[0]?.id ?? ''
    await raiseLimit(test.database, of.organizationId, id, 4, now)
    await setQuotaOf(test.database, { ...day, onReached: 'pause' }, now)
    expect((await reserve(of, 0)).budgets).toMatchObject([{ limit_usd: 5 }])
    expect(await raiseLimit(test.database, randomUUID(), id, 4, now)).toBeNull()
  })

  it('is raised by each of those who raise it at once', async () => {
    const of = await spender(1)
    await settle(of, 1.5, 0)
    const id = (await reserve(of, 1)).budgets[0]?.id ?? ''
    await Promise.all([1, 2, 4].map(byUsd => raiseLimit(test.database, of.organizationId, id, byUsd, now)))
    // The first one begins at what is spent.
    expect((await reserve(of, 0)).budgets).toMatchObject([{ limit_usd: 8.5, spent_usd: 1.5 }])
    expect(await raiseLimit(test.database, of.organizationId, id, 1e9, now)).toBe(1e9)
  })
})
