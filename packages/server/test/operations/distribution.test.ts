import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/storage/postgres.ts'

// A distributed PostgreSQL such as Citus spreads the tables of Sessions by the Session's id. It refuses unique keys without
// that column, triggers on such tables, and statements that lock rows of many Sessions at once, except in one table that it
// leaves where it is: `queue` (docs/scale.md). A new table or statement that breaks a rule has to be made otherwise. The
// database has two roles here: with one role, triggers guard the log (log-guard.test.ts).

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

/** Where a table is given to a statement: the names that it may have, by the files of those statements. */
const givenTables: Readonly<Record<string, RegExp>> = {
  'accounts/account-chores.ts': /table: ('\w+'(?: \| '\w+')+)/g,
  // Rows that stand in the queue are taken from there.
  'delivery/claimed-rows.ts': /new ClaimedRows<\w+>\(\{\s*table: ('\w+'),\n(?!\s*queue:)/g,
}

/** Returns the tables whose rows a text locks, skipping those that are locked already; `given` stands for a table that is given. */
function lockedIn(text: string): string[] {
  return [...text.matchAll(/for update(?: of (\w+))? skip locked/g)].map(({ index, 1: alias }) => {
    const named = new RegExp(
      `\\b(?:from|join)\\s+(\\w+|\\$\\{table\\})${alias === undefined ? '' : `(?: as)? ${alias}`}(?!\\w)`,
      'g',
    )
    const table = [...text.slice(0, index).matchAll(named)].at(-1)?.[1]
    if (table === undefined) throw new Error(`no table is known for ${alias}`)
    return /^\w+$/.test(table) ? table : 'given'
  })
}

it('statements take rows of many Sessions from the queue alone', async () => {
  const source = join(import.meta.dirname, '../../src')
  const names = (await readdir(source, { recursive: true })).filter(
    name => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const texts = await Promise.all(
    names.map(async name => (await readFile(join(source, name), 'utf8')).replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')),
  )
  const whole = texts.join('\n')
  const locked = names.flatMap((name, at) =>
    lockedIn(texts[at] ?? '').flatMap(table => {
      if (table !== 'given') return [table]
      const given = givenTables[name.replaceAll('\\', '/')]
      if (given === undefined) throw new Error(`${name} locks rows of a table that is given, and it is not known which`)
      return [...whole.matchAll(given)].flatMap(([, list]) =>
        [...(list ?? '').matchAll(/\w+/g)].map(([table]) => table),
      )
    }),
  )
  // The reading does find locks.
  expect(locked).toEqual(expect.arrayContaining(['audit_log', 'queue', 'trigger_reports', 'webhook_deliveries']))
  const ofSessions = await namesIn(`select name from (${distributed}) d`)
  expect(new Set(locked.filter(table => ofSessions.includes(table)))).toEqual(new Set(['queue']))
})
