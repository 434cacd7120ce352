import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { type RunningService, serve } from '../../src/serve.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { requireMigrated } from '../../src/storage/postgres/migrate.ts'
import { destroySandboxes } from '../support/faults/destroy-sandboxes.ts'
import { runDirectory } from '../support/leaks/run-directory.ts'
import { databaseUrl, testVariables } from '../support/services/service.ts'
import { createTestDatabase, type TestDatabase } from '../support/storage/postgres.ts'
import { until } from '../support/until.ts'

// The fixture is a deployment of release 1.0.0, whose last migration was the 84th: two Sessions with sealed Runs whose sandboxes
// were given back. It was dumped as docs/production.md says, but as statements (`pg_dump --no-owner --no-acl --inserts`).
const fixture = join(import.meta.dirname, '../support/releases/1.0.0')
const { migration, apiKey, sessions }: Fixture = JSON.parse(readFileSync(join(fixture, 'sessions.json'), 'utf8'))
const main = join(import.meta.dirname, '../../dist/main.js')

interface Fixture {
  readonly migration: number
  readonly apiKey: string
  /** The bodies of `GET /v1/sessions/{id}/events` as release 1.0.0 answered them. */
  readonly sessions: readonly { readonly id: string; readonly log: string }[]
}

const stack = new AsyncDisposableStack()
let db: TestDatabase
let variables: Readonly<Record<string, string>>

beforeAll(async () => {
  db = stack.use(await createTestDatabase({ empty: true }))
  const dump = gunzipSync(readFileSync(join(fixture, 'database.sql.gz'))).toString()
  // A dump empties the search path of its connection.
  await db.database.query(`${dump}; reset all`)
  const dataDir = await runDirectory('upgrade')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  mkdirSync(join(dataDir, 'blobs'))
  execFileSync('tar', ['-xzf', join(fixture, 'blobs.tar.gz'), '-C', join(dataDir, 'blobs')])
  const service = { connection: { ...db.connection, user: inject('testServer').serviceUser } }
  variables = {
    ...testVariables,
    BERTH_DATA_DIR: dataDir,
    BERTH_MASTER_KEY: Buffer.alloc(32).toString('base64'),
    DATABASE_URL: databaseUrl(service),
    BERTH_MIGRATION_URL: databaseUrl(db),
  }
})
afterAll(() => stack.disposeAsync())

/** Writes the row of a process of release 1.0.0 as its heartbeat does. */
const hearOld = () =>
  db.database.query(`
    insert into processes (id, host, roles, started_at, heard_at, heard_since, patience)
    values ('box/7/0a1b2c3d', 'box', '{api}', now(), clock_timestamp(), now(), '1 hour')
    on conflict (id) do update set heard_at = excluded.heard_at`)

async function applied(): Promise<number> {
  const { rows } = await db.database.query<{ last: number }>('select max(number) as last from schema_migrations')
  return rows[0]?.last ?? 0
}

const start = (): Promise<RunningService> =>
  serve(
    loadSettings(variables, path => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)),
    pino({ level: 'silent' }),
  )

test('an upgrade is refused while a process of that release runs, and changes nothing', async () => {
  let refusal: string | undefined
  void start().then(
    () => (refusal = 'none'),
    (error: Error) => (refusal = error.message),
  )
  await until('a refusal', async () => {
    await hearOld()
    return refusal !== undefined
  })
  expect(refusal).toContain('such processes still run: box/7/0a1b2c3d; stop every one of them')
  expect(await applied()).toBe(migration)
  // An orderly stop writes this.
  await db.database.query("update processes set patience = '0'")
})

test('an upgrade that is killed between two migrations leaves those before it, whole', async () => {
  await db.database.transaction(async tx => {
    await tx.query('lock table turns in access share mode')
    await using child = spawn(process.execPath, [main], {
      env: { PATH: process.env['PATH'], ...variables, BERTH_ROLES: 'api' },
      stdio: 'ignore',
    })
    await until('a migration that waits', async () => {
      const { rows } = await db.database.query(
        `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query ilike '%alter table turns%'`,
      )
      return rows.length > 0
    })
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    expect(await exited).toEqual([null, 'SIGKILL'])
  })
  expect(await applied()).toBeGreaterThan(migration)
  await expect(requireMigrated(db.database)).rejects.toThrow('has not been applied')
})

test('the next start completes the upgrade; logs are the same byte for byte, and a Session goes on from its files', async () => {
  await using service = await start()
  const { baseUrl } = service.settings.urls
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  for (const { id, log } of sessions) {
    const answer = await fetch(`${baseUrl}/v1/sessions/${id}/events?limit=100`, { headers })
    expect(await answer.text()).toBe(log)
  }
  const path = `${baseUrl}/v1/sessions/${sessions[0]?.id}`
  const body = JSON.stringify({ message: 'cat kept.txt' })
  const admitted = await fetch(`${path}/turns/${randomUUID()}`, { method: 'PUT', headers, body })
  expect(admitted.status).toBe(202)
  const { lastSequence }: { lastSequence: number } = JSON.parse(sessions[0]?.log ?? '')
  const log = await until('the end of the Run', async () => {
    const text = await (await fetch(`${path}/events?limit=100&after=${lastSequence}`, { headers })).text()
    return text.includes('svc.run.completed') && text
  })
  expect(log).toContain('kept by 1 ünï')
  // With two roles, grants guard the log.
  const left = "select from pg_trigger where tgrelid in ('events'::regclass, 'sessions'::regclass) and not tgisinternal"
  expect((await db.database.query(left)).rowCount).toBe(0)
})

test('the release before refuses the database, and says what to do', async () => {
  const next = (await applied()) + 1
  await db.database.query(
    "insert into schema_migrations (number, name, sha256) values ($1, 'of_a_newer_release.sql', '')",
    [next],
  )
  await expect(start()).rejects.toThrow(
    `the database is at migration ${next}, but this release knows only ${next - 1}: start a newer release, or restore the backup`,
  )
})
