import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { prepareDatabase } from '@berth/platform/storage/postgres/database-roles.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'

// With two roles, grants hold the log append-only; with one, triggers do.

const log = silentLog
const guards = ['event_pages_are_immutable', 'event_pages_are_kept', 'events_are_immutable', 'events_are_kept']

const changes = [
  ["update events set type = 'x'", 'append-only'],
  ['delete from events', 'append-only'],
  ['truncate events', 'append-only'],
  ["update event_pages set sha256 = ''", 'immutable'],
  ['delete from event_pages', 'immutable'],
  ['truncate event_pages', 'immutable'],
] as const

const [owner, worker, group] = ['owner', 'worker', 'group'].map(kind => `test_${kind}_${randomUUID().slice(0, 8)}`) as [
  string,
  string,
  string,
]
let db: TestDatabase
const opened: PooledDatabase[] = []
const as = (user: string) => ({ connection: { ...db.connection, user }, log })
function open(user: string): PooledDatabase {
  const database = openDatabase(as(user))
  opened.push(database)
  return database
}

beforeEach(async () => {
  db = await createTestDatabase({ empty: true })
  const { rowCount } = await db.database.query('select from pg_roles where rolname = $1', [owner])
  if (rowCount === 0) {
    for (const role of [owner, worker]) await db.database.query(`create role ${role} login`)
    await db.database.query(`create role ${group}`)
  }
  await db.database.query(`alter database ${db.connection.database} owner to ${owner}`)
})
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close()
  await db[Symbol.asyncDispose]()
})
afterAll(async () => {
  await using other = await createTestDatabase({ empty: true })
  for (const role of [owner, worker, group]) await other.database.query(`drop role ${role}`)
})

async function standing(): Promise<readonly string[]> {
  const { rows } = await db.database.query<{ name: string }>(
    "select tgname as name from pg_trigger where tgrelid in ('events'::regclass, 'event_pages'::regclass) order by 1",
  )
  return rows.map(({ name }) => name)
}

/** Puts an Event and a page into the log. */
async function fill(): Promise<void> {
  await db.database.query(
    "insert into events (organization_id, session_id, sequence, type, envelope) values ($1, $1, 1, 'test', '{}')",
    [randomUUID()],
  )
  await db.database.query("insert into event_pages values ($1, $1, 1, 1, '', 1, '', now())", [randomUUID()])
}

async function refuses(service: PooledDatabase, reason?: string): Promise<void> {
  for (const [change, own] of changes) await expect(service.query(change)).rejects.toThrow(reason ?? own)
}

describe('with one role', () => {
  test('triggers refuse changes of the log, from the first start on and once they were lost', async () => {
    const service = open(owner)
    await prepareDatabase(service, null)
    await fill()
    await refuses(service)
    await service.query('drop trigger events_are_kept on events')
    await service.query('alter table event_pages disable trigger all')
    await Promise.all(Array.from({ length: 4 }, () => prepareDatabase(service, null)))
    expect(await standing()).toEqual(guards)
    await refuses(service)
  })

  test('a start takes no lock while they stand, and waits for those who append if they do not', async () => {
    const service = open(owner)
    await prepareDatabase(service, null)
    const write = (tx: Queryable) =>
      tx.query("insert into event_pages values ($1, $1, 1, 1, '', 1, '', now())", [randomUUID()])
    let started: Promise<void> = Promise.resolve()
    await db.database.transaction(async tx => {
      await tx.query('lock table events in row exclusive mode')
      await prepareDatabase(service, null)
      await db.database.query('drop trigger event_pages_are_kept on event_pages')
      await write(tx)
      started = prepareDatabase(service, null)
      const starting = async () =>
        (
          await db.database.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ 'create or replace trigger'",
          )
        ).rowCount > 0
      await until('a start that waits', starting)
      // It lets others pass again and again.
      await write(db.database)
    })
    await started
    expect(await standing()).toEqual(guards)
  })
})

describe('with two roles', () => {
  /** Starts a process with one role and stops it. */
  async function serveAsOwner(): Promise<void> {
    const service = openDatabase(as(owner))
    await prepareDatabase(service, null)
    await service.close()
    await until('the end of its connections', async () => {
      const { rowCount } = await db.database.query(
        "select from pg_stat_activity where datname = current_database() and usename = $1 and application_name = 'berth'",
        [owner],
      )
      return rowCount === 0
    })
  }

  test('grants do it: no trigger is left, whether a deployment begins so or had one role before', async () => {
    await serveAsOwner()
    expect(await standing()).toEqual(guards)
    const service = open(worker)
    await db.database.query(`grant all on all tables in schema public to ${worker}`)
    await Promise.all(Array.from({ length: 4 }, () => prepareDatabase(service, as(owner))))
    expect(await standing()).toEqual([])
    await fill()
    await refuses(service, 'permission denied')
    // A process that knows the service's role alone has nothing to add, and one that works as the owner needs the triggers.
    await prepareDatabase(service, null)
    expect(await standing()).toEqual([])
    await prepareDatabase(open(owner), null)
    await refuses(open(owner))
  })

  test('a role that others let change the log is refused, and the triggers stay', async () => {
    await serveAsOwner()
    await db.database.query(`grant ${group} to ${worker}`)
    for (const right of ['update (type)', 'delete', 'truncate', 'trigger']) {
      await db.database.query(`grant ${right} on events to ${group}`)
      await expect(prepareDatabase(open(worker), as(owner))).rejects.toThrow(
        `${worker} of DATABASE_URL may change the log of Events`,
      )
      expect(await standing()).toEqual(guards)
      // The triggers bind it, until somebody takes them away.
      await prepareDatabase(open(worker), null)
      await db.database.query('alter table events disable trigger all')
      await expect(prepareDatabase(open(worker), null)).rejects.toThrow(
        'start a process with BERTH_MIGRATION_URL first',
      )
      await db.database.query('alter table events enable trigger all')
      await db.database.query(`revoke ${right} on events from ${group}`)
    }
    await prepareDatabase(open(worker), as(owner))
    expect(await standing()).toEqual([])
    await db.database.query(`revoke ${group} from ${worker}`)
  })

  test('triggers stay while a process with one role serves beside, and its mistakes are refused', async () => {
    const service = open(owner)
    await prepareDatabase(service, null)
    const warnings: string[] = []
    const warn = (message: unknown) => void warnings.push(String(message))
    await prepareDatabase(open(worker), { ...as(owner), log: { ...log, warn } })
    expect(await standing()).toEqual(guards)
    expect(warnings).toEqual([expect.stringContaining('processes work as the owner of the log')])
    await fill()
    await refuses(service)
    await refuses(open(worker), 'permission denied')
  })

  test('a transaction on the log keeps them from being dropped, and the start from nothing', async () => {
    await serveAsOwner()
    await db.database.transaction(async tx => {
      await tx.query('lock table events in access share mode')
      await prepareDatabase(open(worker), as(owner))
      expect(await standing()).toEqual(['events_are_immutable', 'events_are_kept'])
    })
    await prepareDatabase(open(worker), as(owner))
    expect(await standing()).toEqual([])
  })
})
