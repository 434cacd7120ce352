import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/storage/postgres.ts'

// A distributed PostgreSQL such as Citus spreads the tables of Sessions by the Session's id. It refuses unique keys without
// that column, triggers on such tables, and statements that lock rows of many Sessions at once. This list says what stands in
// its way today (docs/scale.md). It may become shorter: whoever removes a line has brought the schema nearer. A new table
// or statement that would need a line here has to be made otherwise. The database has two roles here: with one role, triggers
// guard the log (log-guard.test.ts).

/** Tables of something else, whose rows may name a Session: they are spread by the organization, or not at all. */
const othersTables = [
  'gateway_daily_usage',
  'gateway_requests',
  'push_deliveries',
  'trigger_deliveries',
  // Reports lie with the trigger's deliveries.
  'trigger_reports',
  'webhook_deliveries',
]

/** Files with statements that take rows of many Sessions from the tables that hold the work, or of a table that is given. */
const takingFiles = [
  // The tables that are given here belong to no Session.
  'accounts/account-chores.ts',
  'console/push/delivery-sql.ts',
  'delivery/claimed-rows.ts',
  'execution/claim/claim-queued-sql.ts',
  'execution/claim/claim-sql.ts',
  'sessions/previews/preview-sql.ts',
  // It takes deliveries, and looks at the Runs of the Sessions that they go on with.
  'triggers/delivery-sql.ts',
  'webhooks/delivery-sql.ts',
]

let made: TestDatabase
beforeAll(async () => {
  made = await createTestDatabase()
})
afterAll(() => made[Symbol.asyncDispose]())

/** SQL: the tables that name Sessions, with the column that does. */
const naming = `
  select c.oid, c.relname as name, case when c.relname = 'sessions' then 'id' else 'session_id' end as by
  from pg_class c
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and (c.relname = 'sessions' or exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'session_id' and not a.attisdropped))`

/** SQL: those that would be spread by that column. */
const distributed = `select * from (${naming}) n where n.name not in (${othersTables.map(name => `'${name}'`).join(', ')})`

async function namesIn(sql: string): Promise<readonly string[]> {
  const { rows } = await made.database.query<{ name: string }>(sql)
  return rows.map(({ name }) => name)
}

it('tables whose rows need no Session are known', async () => {
  const open = await namesIn(`
    select n.name from (${naming}) n join pg_attribute a on a.attrelid = n.oid and a.attname = n.by where not a.attnotnull`)
  expect(open.toSorted()).toEqual(othersTables.filter(name => name !== 'trigger_reports'))
})

it('unique keys of the tables of Sessions have the id of the Session', async () => {
  const without = await namesIn(`
    select i.relname as name from (${distributed}) d
    join pg_index x on x.indrelid = d.oid and x.indisunique
    join pg_class i on i.oid = x.indexrelid
    where not exists (select from pg_attribute a where a.attrelid = i.oid and a.attname = d.by)`)
  expect(without).toEqual([])
})

it('tables of Sessions have no triggers', async () => {
  const found = await namesIn(`
    select t.tgname as name from pg_trigger t join (${distributed}) d on d.oid = t.tgrelid where not t.tgisinternal`)
  expect(found).toEqual([])
})

it('no statement takes rows of many Sessions, but for known ones', async () => {
  const tables = await namesIn(naming)
  const source = join(import.meta.dirname, '../../src')
  const files = (await readdir(source, { recursive: true })).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const names = new RegExp(`\\b(?:from|join|update)\\s+(?:${tables.join('|')})\\b|\\$\\{(?:this\\.)?#?\\w*table\\}`)
  const taking: string[] = []
  for (const name of files) {
    const text = (await readFile(join(source, name), 'utf8')).replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
    if (/\bskip locked\b/.test(text) && names.test(text)) taking.push(name)
  }
  expect(taking.toSorted()).toEqual(takingFiles)
})
