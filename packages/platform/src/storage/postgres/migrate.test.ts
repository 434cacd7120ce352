import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StartError } from '../../kit/start-error.ts'
import { migrate, requireMigrated } from './migrate.ts'
import { openDatabase } from './pool.ts'

let made: TestDatabase
let directory: string

beforeEach(async () => {
  made = await createTestDatabase({ empty: true })
  directory = await mkdtemp(join(tmpdir(), 'berth-migrations-'))
  await add('0001_things.sql', 'create table things (id integer primary key); insert into things values (1);')
})
afterEach(async () => {
  await made[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

async function add(name: string, sql: string): Promise<void> {
  await writeFile(join(directory, name), sql)
}

test('applies each missing migration once, in order', async () => {
  await add('0002_more.sql', 'insert into things values (2)')
  expect(await migrate(made.database, { directory })).toEqual([1, 2])
  await requireMigrated(made.database, { directory })
  await add('0003_more.sql', 'insert into things values (3)')
  await expect(requireMigrated(made.database, { directory })).rejects.toThrow(/0003_more\.sql has not been applied/)
  expect(await migrate(made.database, { directory })).toEqual([3])
  expect(await migrate(made.database, { directory })).toEqual([])
  expect((await made.database.query('select id from things order by id')).rows).toEqual([
    { id: 1 },
    { id: 2 },
    { id: 3 },
  ])
})

test('services that start at once apply each migration once between them', async () => {
  await add('0002_more.sql', 'insert into things values (2)')
  await using other = openDatabase({ connection: made.connection, log: silentLog })
  const racers = [made.database, other, made.database, other].map(database => migrate(database, { directory }))
  expect((await Promise.all(racers)).flat().sort()).toEqual([1, 2])
})

test('rolls a failed migration back whole and keeps those before it', async () => {
  await add('0002_broken.sql', 'insert into things values (2); select nothing;')
  await expect(migrate(made.database, { directory })).rejects.toThrow(StartError)
  await expect(migrate(made.database, { directory })).rejects.toThrow(/0002_broken\.sql failed: .*"nothing"/)
  expect((await made.database.query('select id from things')).rows).toEqual([{ id: 1 }])
})

const building = async () =>
  (
    await made.database.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'`,
    )
  ).rows[0]?.pid
const indexes = async () =>
  (
    await made.database.query<{ whole: boolean }>(
      `select indisvalid as whole from pg_index where indrelid = 'things'::regclass and not indisprimary`,
    )
  ).rows.map(({ whole }) => whole)
/** Runs `work` while a transaction that has written to the table is open, which holds up the build of an index. */
const whileWriting = (work: () => Promise<void>) =>
  made.database.transaction(async transaction => {
    await transaction.query('insert into things values (2)')
    await work()
  })

describe('a migration outside a transaction', () => {
  const sql = '-- outside a transaction\n-- Why.\ncreate index concurrently things_a\n  on things (id);\n'

  beforeEach(async () => {
    await migrate(made.database, { directory })
    await add('0002_indexes.sql', `${sql}create index concurrently things_b on things (id, id);\n`)
  })

  test('builds its indexes while others write, and services that start meanwhile wait for it', async () => {
    await using other = openDatabase({ connection: made.connection, log: silentLog })
    let racers: Promise<number[]>[] = []
    await whileWriting(async () => {
      racers = [made.database, other].map(database => migrate(database, { directory }))
      await until('an index that is being built', building)
      await made.database.query('insert into things values (3)')
    })
    expect((await Promise.all(racers)).flat()).toEqual([2])
    expect(await indexes()).toEqual([true, true])
    await add('0003_more.sql', 'insert into things values (4)')
    expect(await migrate(made.database, { directory })).toEqual([3])
  })

  test.each(['insert into things values (2);', 'create index things_c on things (id);'])(
    'holds nothing but indexes: %s',
    async statement => {
      await add('0002_indexes.sql', sql + statement)
      await expect(migrate(made.database, { directory })).rejects.toThrow('0002_indexes.sql may hold only')
    },
  )
})

test('no migration builds an index on a table of others that holds up their writes', async () => {
  const own = join(import.meta.dirname, '../migrations')
  const names = (await readdir(own)).sort()
  const made = new Set<string | undefined>()
  for (const name of names) {
    const text = await readFile(join(own, name), 'utf8')
    for (const [, table] of text.matchAll(/create (?:unlogged )?table (\w+)/g)) made.add(table)
    const built = [...text.matchAll(/create (?:unique )?index (?!concurrently )\w+\s+on (\w+)/g)].map(
      ([, table]) => table,
    )
    expect([name, built.filter(table => !made.has(table))]).toEqual([name, []])
  }
})

test('refuses a schema that is newer than the release', async () => {
  await add('0002_more.sql', 'insert into things values (2)')
  await migrate(made.database, { directory })
  await rm(join(directory, '0002_more.sql'))
  await expect(migrate(made.database, { directory })).rejects.toThrow(
    'is at migration 2, but this release knows only 1',
  )
})

test('refuses a migration that has changed since it was applied', async () => {
  await migrate(made.database, { directory })
  await add('0001_things.sql', 'create table things (id bigint primary key)')
  await expect(migrate(made.database, { directory })).rejects.toThrow(/0001_things\.sql was applied with other content/)
})

test('refuses migrations that the service was not built with, and says what to do', async () => {
  await expect(migrate(made.database, { directory, built: 'other' })).rejects.toThrow(/start it by script\/server/)
})

test.each(['0003_gap.sql', '2_short.sql', '0002-dash.sql'])('%s is out of order', async name => {
  await add(name, 'select 1')
  await expect(migrate(made.database, { directory })).rejects.toThrow(`migration ${name} is out of order`)
})
