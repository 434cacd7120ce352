import { randomUUID } from 'node:crypto'
import { usageGroupings, usageLimits } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { reportUsage, type UsageFilter } from '../../src/console/usage/usage-sql.ts'

/** Requests of each of two organizations; the plan is looked at for one of them. */
const REQUESTS = 50_000

const [organizationId, other] = [randomUUID(), randomUUID()]
const personId = randomUUID()

let made: TestDatabase
beforeAll(async () => {
  made = await createTestDatabase()
  const db = made.database
  await db.query(
    `insert into organizations (id, name, created_at) values ('${organizationId}', 'o', now()), ('${other}', 'p', now())`,
  )
  for (const id of [organizationId, other]) {
    await db.query(`
      insert into gateway_requests (id, organization_id, credential_kind, wire, provider, model, outcome, cost_usd,
        started_at, person_id, session_id)
      select gen_random_uuid(), '${id}', 'person', 'chat', 'p', 'm' || n % 7, 'completed', 1,
        '2026-01-01T00:00:00Z'::timestamptz + n * interval '10 minutes',
        case when n % 1000 = 0 then '${personId}'::uuid else gen_random_uuid() end, gen_random_uuid()
      from generate_series(1, ${REQUESTS}) n`)
  }
  await db.query('analyze')
})
afterAll(() => made[Symbol.asyncDispose]())

async function planOf(filter: Partial<UsageFilter>): Promise<string> {
  const plans: string[] = []
  const db: Queryable = {
    async query<Row>(statement: Parameters<Queryable['query']>[0]) {
      const { text, values = [] } = typeof statement === 'string' ? { text: statement } : statement
      const explained = await made.database.query<{ 'QUERY PLAN': string }>(`explain (analyze) ${text}`, values)
      plans.push(...explained.rows.map(row => row['QUERY PLAN']))
      return { rows: [] as Row[], rowCount: 0 }
    },
  }
  const [from, until] = [new Date('2026-03-01'), new Date('2026-03-31')]
  await reportUsage(db, { organizationId, by: 'day', personId: null, from, until, ...filter }, usageLimits)
  return plans.join('\n')
}

it.each(usageGroupings)('reports the usage of an organization by %s without reading that of others', async by => {
  const plan = await planOf({ by })
  expect(plan).toContain('gateway_requests_of_organization')
  expect(plan).not.toMatch(/Seq Scan on gateway_requests/)
})

it('reports the usage of a person without reading that of colleagues', async () => {
  expect(await planOf({ personId })).toContain('gateway_requests_of_person')
})
