import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
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
const newer = [
  'alter table chores add column note text; create table newer_things (id integer primary key);',
  `-- outside a transaction
create index concurrently chores_by_note on chores (note);
create index concurrently chores_by_holder on chores (holder);`,
]

/** Held by a test to let a migration pass that waits at the gate. */
const gateLock = 424_242

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

/** Starts the newer release and waits until a migration stands at the gate; `work` kills it. */
async function atGate(work: (db: PooledDatabase, kill: () => Promise<void>) => Promise<void>): Promise<void> {
  const env = { PATH: process.env['PATH'], ...variables }
  await using child = spawn(process.execPath, [main], { env, stdio: 'ignore' })
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
  await gate('CREATE TABLE', 'create table newer_things')
  await atGate((_, kill) => kill())
  await withDatabase(async db => {
    expect(await applied(db)).toBe(LAST)
    const { rowCount } = await db.query(
      "select from information_schema.columns where table_name = 'chores' and column_name = 'note'",
    )
    expect(rowCount).toBe(0)
  })
})

test('a kill in the middle of a migration outside of transactions leaves an index that is not whole', async () => {
  await gate('CREATE INDEX', 'concurrently chores_by_holder')
  await atGate(async (db, kill) => {
    let ended = false
    const held = db.transaction(async tx => {
      // The index is in the catalog by then, and its build waits for those who write to the table.
      await tx.query('lock table chores in row exclusive mode')
      await tx.query(`select pg_advisory_xact_lock(${gateLock})`)
      await until('an index that is built', async () => (await indexes(db)).get('chores_by_holder') === false)
      const { rows } = await tx.query<{ own: number; builder: number }>(
        `select pg_backend_pid() as own, pid as builder from pg_stat_activity
         where pid <> pg_backend_pid() and query ~ 'concurrently chores_by_holder'`,
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
    expect(await applied(db)).toBe(LAST + 1)
    expect(await indexes(db)).toEqual(new Map(Object.entries({ chores_by_note: true, chores_by_holder: false })))
    await db.query('drop event trigger gate')
    await db.query('drop function pg_catalog.gate()')
  })
})

test('the next start applies the rest', async () => {
  await using service = await startServiceProcess(variables, {}, main)
  await using db = connect()
  expect(await applied(db)).toBe(LAST + newer.length)
  expect((await indexes(db)).get('chores_by_holder')).toBe(true)
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

/** Returns the indexes of the newer release, and whether each is whole. */
async function indexes(db: PooledDatabase): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await db.query<{ name: string; whole: boolean }>(
    "select indexrelid::regclass::text as name, indisvalid as whole from pg_index where indexrelid::regclass::text ~ '^chores_by_'",
  )
  return new Map(rows.map(({ name, whole }) => [name, whole]))
}
