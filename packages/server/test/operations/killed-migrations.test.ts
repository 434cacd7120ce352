import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { embeddedConnection, startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { superuser } from '@berth/platform/storage/embedded/initialize.ts'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { testVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const root = join(import.meta.dirname, '../../../..')
/** The last migration of this release, which is the older one here. */
const LAST = readdirSync(join(root, 'packages/platform/src/storage/migrations')).length
/** The migrations that the newer release adds. */
const newer = ['alter table chores add column note text; create table newer_things (id integer primary key);']

const stack = new AsyncDisposableStack()
let directory: string
let dataDir: string
let backup: string
let variables: Readonly<Record<string, string>>
/** The service of the newer release. */
let main: string

beforeAll(async () => {
  directory = await runDirectory('migrations')
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  dataDir = join(directory, 'data')
  backup = join(directory, 'backup')
  stack.defer(() => destroySandboxes(dataDir))
  mkdirSync(dataDir, { mode: 0o700 })
  variables = { ...testVariables, BERTH_DATA_DIR: dataDir }
  main = makeNewerRelease(join(directory, 'newer'))
  await withDatabase(migrate)
  // As docs/production.md says: the service is stopped, and the whole directory is copied.
  execFileSync('cp', ['-a', dataDir, backup])
})
afterAll(() => stack.disposeAsync())

/** Lays out this release with further migrations. */
function makeNewerRelease(place: string): string {
  const at = (path: string) => join(place, 'packages', path)
  const [program, migrations] = ['server/dist', 'platform/src/storage/migrations']
  for (const path of [program, migrations]) mkdirSync(dirname(at(path)), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  for (const name of readdirSync(join(root, 'packages')).filter(each => each !== 'server' && each !== 'platform'))
    symlinkSync(join(root, 'packages', name), at(name))
  for (const path of [program, migrations, 'server/package.json', 'platform/package.json'])
    cpSync(join(root, 'packages', path), at(path), { recursive: true })
  for (const [index, sql] of newer.entries()) {
    const number = String(LAST + 1 + index).padStart(4, '0')
    writeFileSync(join(at(migrations), `${number}_newer.sql`), `${sql}\n`)
  }
  // The bundle knows the migrations that it was built with.
  const [built, all] = [digestsIn(join(root, 'packages', migrations)), digestsIn(at(migrations))]
  execFileSync('sh', ['-c', `sed -i 's/${built}/${all}/' '${at(program)}'/*.js`])
  return at('server/dist/main.js')
}

const digestsIn = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map(name => hash('sha256', readFileSync(join(folder, name))))
    .join()

function connect(): PooledDatabase {
  return openDatabase({ connection: { ...embeddedConnection(dataDir), user: superuser }, log: silentLog })
}

/** Works on the database of the directory while no service runs. */
async function withDatabase<T>(work: (db: PooledDatabase) => Promise<T>): Promise<T> {
  await using _server = await startEmbeddedPostgres({ dataDir, log: silentLog })
  await using db = connect()
  return await work(db)
}

async function applied(db: PooledDatabase): Promise<number> {
  const { rows } = await db.query<{ last: number }>('select max(number) as last from schema_migrations')
  return rows[0]?.last ?? 0
}

/** Makes a migration wait before it creates a table, until the gate is dropped. */
async function gate(): Promise<void> {
  await withDatabase(async db => {
    await db.query(`
      create function pg_catalog.gate() returns event_trigger language plpgsql as $$
      begin
        while current_query() ~ 'create table newer_things' loop perform pg_sleep(0.01); end loop;
      end $$`)
    await db.query(
      `create event trigger gate on ddl_command_start when tag in ('CREATE TABLE') execute function pg_catalog.gate()`,
    )
  })
}

/** Starts the newer release, and kills it once a migration stands at the gate. */
async function killAtGate(): Promise<void> {
  const env = { PATH: process.env['PATH'], ...variables }
  await using child = spawn(process.execPath, [main], { env, stdio: 'ignore' })
  const exited = once(child, 'exit')
  await using db = connect()
  await until('a migration at the gate', async () => {
    const waiting = "select from pg_stat_activity where wait_event = 'PgSleep'"
    const found = await db.query(waiting).catch(() => undefined)
    return found !== undefined && found.rowCount > 0
  })
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
}

test('a kill in the middle of a migration takes back all of it', async () => {
  await gate()
  await killAtGate()
  await withDatabase(async db => {
    expect(await applied(db)).toBe(LAST)
    const { rowCount } = await db.query(
      "select from information_schema.columns where table_name = 'chores' and column_name = 'note'",
    )
    expect(rowCount).toBe(0)
    await db.query('drop event trigger gate')
    await db.query('drop function pg_catalog.gate()')
  })
})

test('the next start applies it', async () => {
  await using service = await startServiceProcess(variables, {}, main)
  await using db = connect()
  expect(await applied(db)).toBe(LAST + newer.length)
  await service.kill('SIGTERM')
})

test('an older release refuses the directory, and takes the copy that was made before', async () => {
  await withDatabase(async db => {
    await expect(migrate(db)).rejects.toThrow(
      `the database is at migration ${LAST + newer.length}, but this release knows only ${LAST}: start a newer release, or restore the backup`,
    )
  })
  await destroySandboxes(dataDir)
  await rm(dataDir, { recursive: true })
  execFileSync('cp', ['-a', backup, dataDir])
  await withDatabase(async db => expect(await migrate(db)).toEqual([]))
})
