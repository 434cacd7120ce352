import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
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
