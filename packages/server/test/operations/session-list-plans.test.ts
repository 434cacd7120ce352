import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ListFilter, listSessionIds } from '../../src/console/sessions/list-sql.ts'

/** Sessions of the one organization that is looked at, a few of which work, and of many owners. */
const SESSIONS = 20_000

const organizationId = randomUUID()
const personId = randomUUID()

let made: TestDatabase
beforeAll(async () => {
  made = await createTestDatabase()
  await made.database.query(`insert into organizations (id, name, created_at) values ('${organizationId}', 'o', now())`)
  await made.database.query(`
    with s as (
      insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at,
        archived_at)
      select '${organizationId}', gen_random_uuid(), 'app_installation', gen_random_uuid(), '', 't ' || n, now(),
        now() - n * interval '1 minute', case when n % 10 = 0 then now() end
      from generate_series(1, ${SESSIONS}) n returning organization_id, id, updated_at)
    insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at, ended_at)
    select organization_id, id, id, id, case when n % 1000 = 0 then 'running' else 'completed' end, now(), now(),
      case when n % 1000 <> 0 then now() end
    from (select *, row_number() over () as n from s) s`)
  await made.database.query('analyze')
})
afterAll(() => made[Symbol.asyncDispose]())

const list = (filter: Partial<ListFilter>) => (db: Queryable) =>
  listSessionIds(
    db,
    {
      organizationId,
      personId,
      archived: 'no',
      q: undefined,
      status: undefined,
      mine: false,
      pinned: undefined,
      snoozed: undefined,
      repository: undefined,
      withPull: false,
      before: null,
      ...filter,
    },
    51,
  )

async function planOf(work: (db: Queryable) => Promise<unknown>): Promise<string> {
  const plans: string[] = []
  await work({
    async query<Row>(statement: Parameters<Queryable['query']>[0], values?: readonly unknown[]) {
      const { text, values: bound = [] } = typeof statement === 'string' ? { text: statement, values } : statement
      const explained = await made.database.query<{ 'QUERY PLAN': string }>(`explain (analyze) ${text}`, bound)
      plans.push(...explained.rows.map(row => row['QUERY PLAN']))
      return { rows: [] as Row[], rowCount: 0 }
    },
  })
  return plans.join('\n')
}

it.each([
  ['all', {}, 'sessions_of_organization'],
  ['those that are not snoozed', { status: 'rest', snoozed: false }, 'sessions_of_organization'],
  ['the archived', { archived: 'only' }, 'sessions_archived_of_organization'],
  ['a group that most are in', { status: 'rest' }, 'sessions_of_organization'],
  ['a status that most have', { status: 'done' }, 'sessions_of_organization'],
  ['a later page', { before: { updatedAt: new Date(Date.now() - 1e8), id: randomUUID() } }, 'sessions_of_organization'],
] as const)('lists %s from the front of an index', async (_, filter, index) => {
  const plan = await planOf(list(filter))
  expect(plan).toContain(index)
  expect(plan).not.toMatch(/Seq Scan on (sessions|runs)\b/)
})

it.each(['working', 'failed', 'ready_to_review', 'merged'] as const)(
  'finds the few Sessions that are %s without reading the others',
  async status => {
    const plan = await planOf(list({ status }))
    expect(plan).not.toMatch(/Seq Scan on (sessions|runs)\b/)
  },
)
