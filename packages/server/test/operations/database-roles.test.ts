import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { superuser } from '@berth/platform/storage/embedded/initialize.ts'
import { couldChangeEvents, prepareDatabase } from '@berth/platform/storage/postgres/database-roles.ts'
import { migrate } from '@berth/platform/storage/postgres/migrate.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

const log = silentLog

/** Puts an Event into the log of a new Session. */
async function appendEvent(db: PooledDatabase): Promise<void> {
  const { organizationId } = await createTenant(db)
  await db.query(
    "insert into events (organization_id, session_id, sequence, type, envelope) values ($1, $2, 1, 'test', '{}')",
    [organizationId, randomUUID()],
  )
}

describe('the role that a service works as', () => {
  let db: TestDatabase
  let service: PooledDatabase
  beforeAll(async () => {
    db = await createTestDatabase()
    service = openDatabase({ connection: db.connection, log })
    await appendEvent(service)
  })
  afterAll(async () => {
    await service.close()
    await db[Symbol.asyncDispose]()
  })

  test.each([
    "update events set type = 'x'",
    'delete from events',
    'truncate events',
    'truncate event_pages',
    'delete from event_pages',
    "update event_pages set sha256 = ''",
    'insert into event_pages select * from event_pages',
    'create trigger mine before insert on events for each row execute function suppress_redundant_updates_trigger()',
    'alter table events disable trigger all',
    'drop index events_pkey',
    'drop table events cascade',
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
    'set session_replication_role = replica',
    `set role ${superuser}`,
    `set session authorization ${superuser}`,
    'create table public.mine ()',
    'create role other',
    'delete from schema_migrations',
    "copy (select 1) to program 'true'",
    "select pg_read_file('PG_VERSION')",
  ])('may not run: %s', async statement => {
    await expect(service.query(statement)).rejects.toThrow(/permission denied|must be owner/)
  })

  test('reads and writes rows, even of unlogged tables, waits on locks, notifies and listens', async () => {
    expect(await couldChangeEvents(service)).toBe(false)
    expect((await service.query('select 1 from events')).rowCount).toBe(1)
    await service.query("insert into rate_buckets (key, tokens, refilled_at) values ('x', 1, now())")
    await service.query("update rate_buckets set tokens = 2 where key = 'x'")
    await service.query('delete from rate_buckets')
    await service.transaction(async tx => {
      await tx.query('lock table organizations in exclusive mode')
      await tx.query('select pg_advisory_xact_lock(1)')
      await tx.query("select pg_notify('berth', '')")
    })
    await service.query('listen berth')
  })

  test('can start on an up-to-date schema without owning it, and names the missing privilege on another', async () => {
    await prepareDatabase(service, null)
    await db.database.query('create table kept as select * from schema_migrations')
    await db.database.query('delete from schema_migrations')
    try {
      await expect(prepareDatabase(service, null)).rejects.toThrow(
        `the database role ${db.connection.user} may not bring the schema up to date (permission denied for schema public); BERTH_MIGRATION_URL names a role that may`,
      )
    } finally {
      await db.database.query('insert into schema_migrations select * from kept')
    }
  })
})

describe('an embedded database', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'berth-roles-'))
    return () => rmSync(dataDir, { recursive: true })
  })

  /** Opens the database as a start of the service does. */
  async function openEmbedded() {
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await startEmbeddedPostgres({ dataDir, log }))
    const service = stack.use(openDatabase({ connection: server.connection, log }))
    const administration = stack.use(openDatabase({ connection: server.administration, log }))
    await prepareDatabase(service, { connection: server.administration, log })
    const opened = stack.move()
    return { service, administration, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  }

  test('whose first start was killed before it gave the plain role its rights is prepared by the next', async () => {
    {
      await using server = await startEmbeddedPostgres({ dataDir, log })
      await using administration = openDatabase({ connection: server.administration, log })
      await migrate(administration)
      await appendEvent(administration)
      await using service = openDatabase({ connection: server.connection, log })
      await expect(service.query('select 1 from events')).rejects.toThrow('permission denied')
    }
    await using database = await openEmbedded()
    const { service } = database
    expect((await service.query('select 1 from events')).rowCount).toBe(1)
    await appendEvent(service)
    expect(await couldChangeEvents(service)).toBe(false)
    await expect(service.query('delete from events')).rejects.toThrow('permission denied')
  })

  test('is used only by the plain role once it is prepared', async () => {
    await using database = await openEmbedded()
    await database.service.query('select 1')
    await until('only the plain role', async () => {
      const { rows } = await database.administration.query<{ usename: string }>(
        "select usename from pg_stat_activity where application_name = 'berth' and pid <> pg_backend_pid()",
      )
      return rows.length === 1 && rows[0]?.usename === 'berth_service'
    })
  })
})

describe('a server with a role for migrations', () => {
  let db: TestDatabase
  const [owner, worker] = ['owner', 'worker'].map(kind => `test_${kind}_${randomUUID().slice(0, 8)}`) as [
    string,
    string,
  ]
  const as = (user: string) => ({ connection: { ...db.connection, user }, log })

  beforeAll(async () => {
    db = await createTestDatabase({ empty: true })
    for (const role of [owner, worker]) await db.database.query(`create role ${role} login`)
    await db.database.query(`alter database ${db.connection.database} owner to ${owner}`)
  })
  afterAll(async () => {
    const { database } = db
    for (const role of [owner, worker]) await database.query(`drop owned by ${role} cascade`)
    await db[Symbol.asyncDispose]()
    await using other = await createTestDatabase({ empty: true })
    for (const role of [owner, worker]) await other.database.query(`drop role ${role}`)
  })

  test('is migrated and granted by that role, even by concurrent starts, and served by the other', async () => {
    const starts = Array.from({ length: 4 }, async () => {
      await using service = openDatabase(as(worker))
      await prepareDatabase(service, as(owner))
    })
    await Promise.all(starts)
    await using service = openDatabase(as(worker))
    await appendEvent(service)
    await expect(service.query('delete from events')).rejects.toThrow('permission denied')
    // A process that knows only one role starts on the schema that the other has prepared.
    await prepareDatabase(service, null)
  })

  test('is refused while another role owns a table of the schema, with its name and the remedy', async () => {
    await using service = openDatabase(as(worker))
    await db.database.query('create table "of another" ()')
    try {
      await expect(prepareDatabase(service, as(owner))).rejects.toMatchObject({
        name: 'StartError',
        message: expect.stringContaining(
          `the database role ${owner} of BERTH_MIGRATION_URL may not grant the service what it needs (permission denied for table of another): it must own every table of the schema, but "of another" belongs to ${superuser}; run \`alter table "of another" owner to ${owner}\``,
        ),
      })
      await db.database.query(`alter table "of another" owner to ${owner}`)
      await prepareDatabase(service, as(owner))
    } finally {
      await db.database.query('drop table "of another"')
    }
  })

  test('is refused if the service is the owner, or the two name different databases', async () => {
    await using service = openDatabase(as(owner))
    await expect(prepareDatabase(service, as(owner))).rejects.toThrow(
      `but ${owner} of DATABASE_URL owns the schema, is a member of its owner, or is a superuser`,
    )
    await using other = await createTestDatabase({ empty: true })
    await expect(prepareDatabase(other.database, as(owner))).rejects.toThrow(
      'BERTH_MIGRATION_URL must name the database of DATABASE_URL',
    )
  })
})
