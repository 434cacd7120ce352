import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/storage/postgres.ts'

// A distributed PostgreSQL such as Citus spreads the tables of Sessions by the Session's id. It refuses unique keys without
// that column, triggers on such tables, and statements that lock rows of many Sessions at once. These lists say what stands in
// its way today (docs/scale.md). They may become shorter: whoever removes a line has brought the schema nearer. A new table
// or statement that would need a line here has to be made otherwise.

/** Unique keys of Sessions' tables without the Session's id. */
const keysWithoutSession = [
  // Found by what a caller knows instead of the Session: a label, a token, an id of its own.
  'artifact_views_pkey',
  'file_looks_pkey',
  'gateway_requests_pkey',
  'leases_pkey',
  'port_previews_pkey',
  'push_deliveries_pkey',
  'runtime_credentials_pkey',
  'terminals_pkey',
  'webhook_deliveries_pkey',
  // A claim is random; its key only finds the row again.
  'file_looks_claimed',
  'merges_claimed',
  'publications_claimed',
  'review_requests_claimed',
  'trigger_reports_claimed',
  'webhook_deliveries_claimed',
  // A lease belongs to one Session, and a subscription's subject to one.
  'interactions_lease_id_journal_offset_key',
  'push_deliveries_subscription_id_kind_subject_key',
  // What came to a trigger: many have no Session yet, and the trigger and its caller's key find them.
  'trigger_deliveries_pkey',
  'trigger_deliveries_signed',
  'trigger_reports_pkey',
]

/** Triggers on Sessions' tables. */
const triggers = [
  'checkpoints_seal_turns',
  'event_pages_are_immutable',
  'event_pages_are_kept',
  'events_are_immutable',
  'events_are_kept',
  'sessions_move',
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

/** SQL: the tables that would be spread, with the column by which. */
const distributed = `
  select c.oid, c.relname as name, case when c.relname = 'sessions' then 'id' else 'session_id' end as by
  from pg_class c
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and (c.relname = 'sessions' or exists (
    select from pg_attribute a where a.attrelid = c.oid and a.attname = 'session_id' and not a.attisdropped))`

async function namesIn(sql: string): Promise<readonly string[]> {
  const { rows } = await made.database.query<{ name: string }>(sql)
  return rows.map(({ name }) => name)
}

it('unique keys of the tables of Sessions have the id of the Session, but for known ones', async () => {
  const without = await namesIn(`
    select i.relname as name from (${distributed}) d
    join pg_index x on x.indrelid = d.oid and x.indisunique
    join pg_class i on i.oid = x.indexrelid
    where not exists (select from pg_attribute a where a.attrelid = i.oid and a.attname = d.by)`)
  expect(without.toSorted()).toEqual(keysWithoutSession.toSorted())
})

it('tables of Sessions have no triggers, but for known ones', async () => {
  const found = await namesIn(`
    select t.tgname as name from pg_trigger t join (${distributed}) d on d.oid = t.tgrelid where not t.tgisinternal`)
  expect(found.toSorted()).toEqual(triggers)
})

it('no statement takes rows of many Sessions, but for known ones', async () => {
  const tables = await namesIn(distributed)
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
