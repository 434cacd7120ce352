import { randomUUID } from 'node:crypto'
import { prepareDatabase } from '@berth/platform/storage/postgres/database-roles.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { silentLog as log } from '@berth/testing/services/log.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const changes = [
  ["update events set type = 'x'", 'append-only'],
  ['delete from events', 'append-only'],
  ['truncate events', 'append-only'],
  ["update event_pages set sha256 = ''", 'immutable'],
  ['delete from event_pages', 'immutable'],
  ['truncate event_pages', 'immutable'],
] as const

const roleOf = (kind: string) => `test_${kind}_${randomUUID().slice(0, 8)}`
const [owner, worker, group] = [roleOf('owner'), roleOf('worker'), roleOf('group')]
const stack = new AsyncDisposableStack()
let db: TestDatabase
let byOwner: PooledDatabase
let byWorker: PooledDatabase
const as = (user: string) => ({ connection: { ...db.connection, user }, log })

beforeAll(async () => {
  db = stack.use(await createTestDatabase({ empty: true }))
  for (const role of [owner, worker]) await db.database.query(`create role ${role} login`)
  await db.database.query(`create role ${group}`)
  await db.database.query(`alter database ${db.connection.database} owner to ${owner}`)
  byOwner = stack.use(openDatabase(as(owner)))
  byWorker = stack.use(openDatabase(as(worker)))
  await prepareDatabase(byOwner, null)
  await db.database.query(
    "insert into events (organization_id, session_id, sequence, type, envelope) values ($1, $1, 1, 'test', '{}')",
    [randomUUID()],
  )
  await db.database.query("insert into event_pages values ($1, $1, 1, 1, '', 1, '', now())", [randomUUID()])
})
afterAll(async () => {
  await stack.disposeAsync()
  await using other = await createTestDatabase({ empty: true })
  for (const role of [owner, worker, group]) await other.database.query(`drop role ${role}`)
})

test.each(changes)('a role that owns the log is refused to %s, and another may not', async (change, reason) => {
  await prepareDatabase(byWorker, as(owner))
  await expect(byOwner.query(change)).rejects.toThrow(reason)
  await expect(byWorker.query(change)).rejects.toThrow('permission denied')
})

test('a start is refused by the names of the triggers that somebody has disabled or dropped', async () => {
  await db.database.query('alter table event_pages disable trigger all')
  await db.database.query('alter trigger events_are_kept on events rename to others')
  for (const start of [() => prepareDatabase(byOwner, null), () => prepareDatabase(byWorker, as(owner))])
    await expect(start()).rejects.toThrow('(events_are_kept, event_pages_are_immutable, event_pages_are_kept)')
  await db.database.query('alter trigger others on events rename to events_are_kept')
  await db.database.query('alter table event_pages enable trigger all')
  await prepareDatabase(byOwner, null)
})

test.each(['update (type)', 'delete', 'truncate', 'trigger'])(
  'a role that others let change the log by %s is refused',
  async right => {
    await db.database.query(`grant ${group} to ${worker}`)
    await db.database.query(`grant ${right} on events to ${group}`)
    await expect(prepareDatabase(byWorker, as(owner))).rejects.toThrow(
      `${worker} of DATABASE_URL may change the log of Events`,
    )
    await db.database.query(`revoke ${right} on events from ${group}`)
    await prepareDatabase(byWorker, as(owner))
  },
)
