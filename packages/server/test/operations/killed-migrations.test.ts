import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { serve } from '../../src/serve.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { embeddedConnection, startEmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts'
import { superuser } from '../../src/storage/embedded/initialize.ts'
import { migrate } from '../../src/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '../../src/storage/postgres/pool.ts'
import { destroySandboxes } from '../support/faults/destroy-sandboxes.ts'
import { runDirectory } from '../support/leaks/run-directory.ts'
import { silentLog } from '../support/services/log.ts'
import { testVariables } from '../support/services/service.ts'
import { until } from '../support/until.ts'

const main = join(import.meta.dirname, '../../dist/main.js')
const migrations = join(import.meta.dirname, '../../src/storage/migrations')
/** The last migration of the older release. */
const LAST = 84

/** Held by a test to let a migration pass that waits at the gate. */
const gateLock = 424_242

const stack = new AsyncDisposableStack()
let directory: string
let dataDir: string
let backup: string
let variables: Readonly<Record<string, string>>
/** The migrations of the older release. */
let older: string

beforeAll(async () => {
  directory = await runDirectory('migrations')
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  dataDir = join(directory, 'data')
  backup = join(directory, 'backup')
  older = join(directory, 'migrations')
  stack.defer(() => destroySandboxes(dataDir))
  for (const path of [dataDir, older]) mkdirSync(path, { mode: 0o700 })
  variables = { ...testVariables, BERTH_DATA_DIR: dataDir }
  for (const name of readdirSync(migrations).filter(each => Number(each.slice(0, 4)) <= LAST)) {
    copyFileSync(join(migrations, name), join(older, name))
  }
  await withDatabase(db => migrate(db, { directory: older }))
  // As docs/production.md says: the service is stopped, and the whole directory is copied.
  execFileSync('cp', ['-a', dataDir, backup])
})
afterAll(() => stack.disposeAsync())

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

/** Makes every migration whose text matches wait for the gate's lock before its statement of this kind. */
async function gate(tag: string, pattern: string): Promise<void> {
  await withDatabase(async db => {
    await db.query('drop event trigger if exists gate')
    await db.query(`
      create or replace function pg_catalog.gate() returns event_trigger language plpgsql as $$
      begin
        while current_query() ~ '${pattern}' and not exists (
          select from pg_locks where locktype = 'advisory' and classid = 0 and objid = ${gateLock} and granted)
        loop perform pg_sleep(0.01); end loop;
      end $$`)
    await db.query(
      `create event trigger gate on ddl_command_start when tag in ('${tag}') execute function pg_catalog.gate()`,
    )
  })
}

/** Starts the service and waits until a migration stands at the gate; `work` kills it. */
async function atGate(work: (db: PooledDatabase, kill: () => Promise<void>) => Promise<void>): Promise<void> {
  await using child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...variables },
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  await using db = connect()
  await until('a migration at the gate', async () => {
    const waiting = "select from pg_stat_activity where wait_event = 'PgSleep'"
    const found = await db.query(waiting).catch(() => undefined)
    return found !== undefined && found.rowCount > 0
  })
  await work(db, async () => {
    child.kill('SIGKILL')
    expect(await exited).toEqual([null, 'SIGKILL'])
  })
}

test('a kill in the middle of a migration takes back all of it', async () => {
  await gate('CREATE TABLE', 'create table trigger_reports')
  await atGate((_, kill) => kill())
  await withDatabase(async db => {
    expect(await applied(db)).toBe(90)
    const { rowCount } = await db.query(
      "select from information_schema.columns where table_name = 'trigger_deliveries' and column_name = 'head_oid'",
    )
    expect(rowCount).toBe(0)
  })
})

test('a kill in the middle of a migration outside of transactions leaves an index that is not whole', async () => {
  await gate('CREATE INDEX', 'concurrently interactions_of_lease')
  await atGate(async (db, kill) => {
    let ended = false
    const held = db.transaction(async tx => {
      // The index is in the catalog by then, and its build waits for those who write to the table.
      await tx.query('lock table interactions in row exclusive mode')
      await tx.query(`select pg_advisory_xact_lock(${gateLock})`)
      await until('an index that is built', async () => (await indexes(db)).get('interactions_of_lease') === false)
      const { rows } = await tx.query<{ own: number; builder: number }>(
        `select pg_backend_pid() as own, pid as builder from pg_stat_activity
         where pid <> pg_backend_pid() and query ~ 'concurrently interactions_of_lease'`,
      )
      const [{ own, builder } = expect.fail('nobody builds')] = rows
      // The database ends with the service, and both of these with it. A holder that stands still keeps the lock meanwhile.
      process.kill(own, 'SIGSTOP')
      try {
        await kill()
        await until('the end of the build', () => !existsSync(`/proc/${builder}`))
        ended = true
      } finally {
        process.kill(own, 'SIGCONT')
      }
    })
    await held.catch(error => {
      if (!ended) throw error
    })
  })
  await withDatabase(async db => {
    expect(await applied(db)).toBe(94)
    const found = await indexes(db)
    expect([found.get('leases_by_id'), found.get('interactions_of_lease')]).toEqual([true, false])
    await db.query('drop event trigger gate')
    await db.query('drop function pg_catalog.gate()')
  })
})

test('the next start applies the rest', async () => {
  const readFile = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
  await using service = await serve(loadSettings(variables, readFile), pino({ level: 'silent' }))
  await using db = connect()
  expect(await applied(db)).toBe(readdirSync(migrations).length)
  expect((await indexes(db)).get('interactions_of_lease')).toBe(true)
  expect((await fetch(`${service.settings.urls.baseUrl}/readyz`)).status).toBe(200)
})

test('an older release refuses the directory, and takes the copy that was made before', async () => {
  await withDatabase(async db => {
    await expect(migrate(db, { directory: older })).rejects.toThrow(
      /^the database is at migration \d+, but this release knows only 84: start a newer release, or restore the backup/,
    )
  })
  await destroySandboxes(dataDir)
  await rm(dataDir, { recursive: true })
  execFileSync('cp', ['-a', backup, dataDir])
  await withDatabase(async db => expect(await migrate(db, { directory: older })).toEqual([]))
})

/** Returns the indexes of the migration, and whether each is whole. */
async function indexes(db: PooledDatabase): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await db.query<{ name: string; whole: boolean }>(
    "select indexrelid::regclass::text as name, indisvalid as whole from pg_index where indexrelid::regclass::text ~ '_by_id$|_of_lease$'",
  )
  return new Map(rows.map(({ name, whole }) => [name, whole]))
}
