import { randomUUID } from 'node:crypto'
import { usageGroupings as pageGroupings } from '@berth/contract'
import { listDailyUsage } from '@berth/server/console/usage/usage-sql.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, expect, test } from 'vitest'
import { rollUpUsage } from './roll-up.ts'
import { reportUsage, usageGroupings } from './usage-report.ts'

const { signal } = new AbortController()
const [from, until] = [new Date('2026-01-01'), new Date('2026-02-01')]
const made = await createTestDatabase()
const organizationId = (await createTenant(made.database)).organizationId
afterAll(() => made[Symbol.asyncDispose]())

/** Stores requests over ten days: of three people and none, with and without a known cost, some failed or left open. */
async function store(count: number): Promise<void> {
  await made.database.query({
    text: `
      insert into gateway_requests (id, organization_id, credential_kind, wire, provider, model, outcome, input_tokens,
        cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, started_at, person_id, end_user_id, session_id, run_id)
      select gen_random_uuid(), $1, case when n % 2 = 0 then 'person' else 'runtime' end, 'chat', 'p' || n % 2, 'm' || n % 3,
        (array['completed', 'failed', 'open', 'left'])[1 + n % 4], n, n / 2, n / 3, case when n % 5 > 0 then n end, 1,
        case when n % 7 > 0 then n / 1000.0 end, '2026-01-02T23:50:00Z'::timestamptz + n % 10 * interval '1 day' + n * interval '1 s',
        ($3::uuid[])[1 + n % 4], case when n % 11 = 0 then 'e' || n % 2 end, ($3::uuid[])[1 + n % 2], ($3::uuid[])[1 + n % 3]
      from generate_series(1, $2) n`,
    values: [organizationId, count, ids],
  })
}
const ids = [randomUUID(), randomUUID(), randomUUID()]

const reports = async () =>
  Promise.all([
    ...usageGroupings.map(by => reportUsage(made.database, by, from)),
    ...pageGroupings.map(by =>
      listDailyUsage(made.database, { organizationId, by, personId: ids[0] ?? '', from, until }),
    ),
    ...pageGroupings.map(by => listDailyUsage(made.database, { organizationId, by, personId: null, from, until })),
  ])
const count = async (table: string) =>
  (await made.database.query<{ n: number }>(`select count(*)::integer as n from ${table}`)).rows[0]?.n

test('every report says the same when requests are summed up, in one go or in several', async () => {
  await store(12_000)
  const before = await reports()
  expect(before.flat().length).toBeGreaterThan(100)
  expect(await rollUpUsage(made.database, new Date('2026-01-05T12:00:00Z'), signal)).toBeGreaterThan(0)
  expect(await reports()).toEqual(before)
  const left = await count('gateway_requests')
  expect(left).toBeGreaterThan(0)
  expect(await rollUpUsage(made.database, until, signal)).toBe(left)
  expect(await reports()).toEqual(before)
  expect(await count('gateway_requests')).toBe(0)
  expect(await count('gateway_daily_usage')).toBeLessThan(2_000)
  expect(await rollUpUsage(made.database, until, signal)).toBe(0)
})

test('a later request of the same day is added to its sums', async () => {
  await store(40)
  const before = await reports()
  const rows = await count('gateway_daily_usage')
  expect(await rollUpUsage(made.database, until, signal)).toBe(40)
  expect(await reports()).toEqual(before)
  await store(40)
  await rollUpUsage(made.database, until, signal)
  expect((await count('gateway_daily_usage')) ?? 0).toBeLessThanOrEqual((rows ?? 0) + 40)
})

test('two processes that sum up at once count each request once', async () => {
  await store(12_000)
  const before = await reports()
  const summed = await Promise.all([1, 2, 3].map(() => rollUpUsage(made.database, until, signal)))
  expect(summed.reduce((sum, each) => sum + each)).toBe(12_000)
  expect(await reports()).toEqual(before)
})

test('requests of a run that has not ended stay', async () => {
  const [sessionId, runId] = [randomUUID(), randomUUID()]
  const { database } = made
  await rollUpUsage(database, until, signal)
  await database.query({
    text: `
      insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
      values ($1, $2, 'app_installation', $1, '', 't', now(), now())`,
    values: [organizationId, sessionId],
  })
  await database.query({
    text: `
      insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at)
      values ($1, $2, $3, gen_random_uuid(), 'running', now(), now())`,
    values: [organizationId, sessionId, runId],
  })
  await database.query({
    text: `
      insert into gateway_requests (id, organization_id, credential_kind, wire, provider, model, outcome, started_at, session_id, run_id)
      values (gen_random_uuid(), $1, 'runtime', 'chat', 'p', 'm', 'completed', '2026-01-02', $2, $3)`,
    values: [organizationId, sessionId, runId],
  })
  expect(await rollUpUsage(database, until, signal)).toBe(0)
  await database.query({
    text: `update runs set status = 'completed', ended_at = now() where id = $1`,
    values: [runId],
  })
  expect(await rollUpUsage(database, until, signal)).toBe(1)
})

test('a process that stops begins no further statement', async () => {
  await store(1)
  await expect(rollUpUsage(made.database, until, AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping')
  expect(await count('gateway_requests')).toBe(1)
})
