import { randomUUID } from 'node:crypto'
import { findRunBudgets } from '@berth/core/sessions/runs/run-budgets.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { setBudgets, setQuota } from '../../src/admin/spending.ts'

const db = await createTestDatabase()
const tenant = await createTenant(db.database)
const variables = { DATABASE_URL: databaseUrl(db) }
afterAll(() => db[Symbol.asyncDispose]())

const quotas = async () =>
  (
    await db.database.query<{ period: string; limit: number }>(
      'select period, limit_usd::float as limit from gateway_budgets',
    )
  ).rows

describe('an operator', () => {
  it("gives an organization's runs their own budgets and removes them", async () => {
    const { organizationId } = tenant
    await setBudgets(variables, organizationId, { costUsd: 2.5, turns: 40 })
    expect(await findRunBudgets(db.database, organizationId, { turns: 9, seconds: 60 })).toEqual({
      costUsd: 2.5,
      turns: 40,
      seconds: 60,
    })
    await setBudgets(variables, organizationId, {})
    expect(await findRunBudgets(db.database, organizationId, { turns: 9 })).toEqual({ turns: 9 })
  })

  it('limits the spending of an organization in each period, changes the limit and removes it', async () => {
    const { organizationId } = tenant
    await setQuota(variables, { organizationId, period: 'month', limitUsd: 200 })
    await setQuota(variables, { organizationId, period: 'month', limitUsd: 100 })
    await setQuota(variables, { organizationId, period: 'day', limitUsd: 10 })
    expect((await quotas()).toSorted((a, b) => a.limit - b.limit)).toEqual([
      { period: 'day', limit: 10 },
      { period: 'month', limit: 100 },
    ])
    await setQuota(variables, { organizationId, period: 'day', limitUsd: null })
    expect(await quotas()).toEqual([{ period: 'month', limit: 100 }])
  })

  it.each(['not-an-id', randomUUID()])('gets an error if there is no organization or key %s', async id => {
    await expect(setBudgets(variables, id, {})).rejects.toThrow(`there is no organization ${id}`)
    const budget = { organizationId: tenant.organizationId, apiKeyId: id, period: 'day', limitUsd: 1 } as const
    await expect(setQuota(variables, budget)).rejects.toThrow(`no key ${id}`)
  })
})
