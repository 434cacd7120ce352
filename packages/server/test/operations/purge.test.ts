import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { readNamedBlobs } from '@berth/core/housekeeping/named-blobs.ts'
import { purgeChores } from '@berth/core/sessions/purge/purge-chore.ts'
import { purgeSessions } from '@berth/core/sessions/purge/purge-sessions.ts'
import { tablesOfSession } from '@berth/core/sessions/purge/purge-sql.ts'
import { sealLog } from '@berth/core/sessions/purge/seal-logs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { sessionOnRepository } from '@berth/testing/console/reviewed-session.ts'
import type { Delivering } from '@berth/testing/git/delivering.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const DAY_MS = 86_400_000
const clock = { now: () => new Date() }
const stack = new AsyncDisposableStack()
let test: TestService
/** The database as the service's role, which may not delete an Event. */
let db: PooledDatabase
let blobs: FileBlobs
let old: Delivering
let kept: Delivering
beforeAll(async () => {
  test = stack.use(await startTestService())
  db = openDatabase({ connection: test.db.connection, log: silentLog })
  stack.defer(() => db.close())
  blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
  old = await sessionOnRepository(test, 'sample/old')
  kept = await sessionOnRepository(test, 'sample/kept')
  for (const at of [old, kept]) {
    await at.shell('echo changed > changed.txt')
    // The follow-up of the old one is stopped by its archiving; that of the other would go on telling.
    const { id } = await at.publish(at === old ? { followUp: {} } : {})
    await at.merge(id)
  }
})
afterAll(() => stack.disposeAsync())

const rowsIn = async (table: string, { session }: Delivering): Promise<number> => {
  const { rows } = await test.db.database.query<{ count: number }>({
    text: `select count(*)::integer as count from ${table} where session_id = $1`,
    values: [session.id],
  })
  return rows[0]?.count ?? 0
}

const rowsOf = async (at: Delivering): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const table of ['events', ...tablesOfSession]) counts[table] = await rowsIn(table, at)
  return counts
}

const archivedDaysAgo = (days: number, { session }: Delivering) =>
  test.db.database.query({
    text: 'update sessions set archived_at = $2 where id = $1',
    values: [session.id, new Date(Date.now() - days * DAY_MS)],
  })

const purge = () => purgeSessions({ db, clock }, new Date(Date.now() - 30 * DAY_MS), AbortSignal.timeout(60_000))

describe('the purge of archived Sessions', () => {
  it('knows every table that holds rows of a Session', async () => {
    const { rows } = await test.db.database.query<{ name: string }>(`
      select c.table_name as name from information_schema.columns c join information_schema.tables t
        on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
      where c.table_schema = 'public' and c.column_name = 'session_id'`)
    // Usage stays with the organization. What came to a trigger stays until the trigger forgets it: a repeated delivery is
    // still known by then.
    const usage = ['gateway_requests', 'gateway_daily_usage']
    const others = ['events', 'event_pages', 'webhook_deliveries', ...usage, 'trigger_deliveries', 'trigger_reports']
    expect(rows.map(row => row.name).sort()).toEqual([...tablesOfSession, ...others].sort())
  })

  it('leaves Sessions that are live, young or still have a sandbox', async () => {
    expect(await purge()).toBe(0)
    expect(outcome(await test.api.call('DELETE', old.path('')))).toBe('204')
    expect(await purge()).toBe(0)
    await archivedDaysAgo(29, old)
    expect(await purge()).toBe(0)
    await archivedDaysAgo(31, old)
    await test.db.database.transaction(async tx => {
      // The service's sweeper, which ends the sandboxes of archived Sessions, waits for this row.
      await tx.query('select 1 from sessions where id = $1 for update', [old.session.id])
      await test.db.database.query({
        text: "update leases set ended_at = null, state = 'attached', end_reason = null where session_id = $1",
        values: [old.session.id],
      })
      expect(await purge()).toBe(0)
      await test.db.database.query({
        text: "update leases set ended_at = now(), state = 'ended', end_reason = 'archived' where session_id = $1",
        values: [old.session.id],
      })
    })
  })

  it('deletes every row of an old one, audits it, and touches no other', async () => {
    const before = await rowsOf(kept)
    const events = (await rowsOf(old))['events']
    const key = { organizationId: test.tenant.organizationId, sessionId: old.session.id }
    await sealLog({ db, blobs }, key, AbortSignal.timeout(60_000))
    expect([await rowsIn('events', old), await rowsIn('event_pages', old)]).toEqual([1, 1])
    expect([before['merges'], await rowsIn('follow_ups', old)]).toEqual([1, 1])
    expect(await purge()).toBe(1)
    expect(Object.values(await rowsOf(old)).every(count => count === 0)).toBe(true)
    expect(await rowsIn('event_pages', old)).toBe(0)
    expect(await rowsOf(kept)).toEqual(before)
    const { rows } = await test.db.database.query(
      "select organization_id, actor_kind, target, details from audit_log where action = 'session.purged'",
    )
    expect(rows).toMatchObject([
      {
        organization_id: test.tenant.organizationId,
        actor_kind: 'service',
        target: `session/${old.session.id}`,
        details: { events, runs: 2 },
      },
    ])
    const named = new Set(await Array.fromAsync(readNamedBlobs(test.db.database)))
    const { rows: artifacts } = await test.db.database.query<{ sha256: string }>('select sha256 from artifacts')
    expect(artifacts.every(({ sha256 }) => named.has(sha256))).toBe(true)
  })

  it('leaves nothing to read, and no way to make the Session anew', async () => {
    expect(outcome(await test.api.get(old.path('')))).toBe('404 cloud_session_not_found')
    expect(outcome(await test.api.get(old.path('/events')))).toBe('404 cloud_session_not_found')
    const again = await test.api.put(`/v1/sessions/${old.session.id}`, { runtime: 'shell' })
    expect(outcome(again)).toBe('404 cloud_session_not_found')
    expect((await test.api.session(kept.session.id)).id).toBe(kept.session.id)
  })

  it('is done by nobody unless the operator asked for it', () => {
    const context = { db, blobs, clock, log: pino({ level: 'silent' }) }
    const names = (archivedMs: number | null, logMs: number | null) =>
      purgeChores(context, { archivedMs, logMs }).map(({ name }) => name)
    expect(names(null, null)).toEqual(['purge-trials', 'drop-review-packs'])
    expect(names(DAY_MS, null)).toEqual(['purge-trials', 'drop-review-packs', 'purge-sessions'])
    expect(names(DAY_MS, DAY_MS)).toEqual(['purge-trials', 'drop-review-packs', 'purge-sessions', 'seal-logs'])
  })
})

describe('the role of the service', () => {
  const eventsOf = (at: Delivering) =>
    db.query({ text: 'select purge_events($1, $2)', values: [test.tenant.organizationId, at.session.id] })

  it.each([
    ['live', null],
    ['archived an hour ago', 1 / 24],
  ])('cannot delete the log of a Session that is %s', async (_, days) => {
    if (days !== null) await archivedDaysAgo(days, kept)
    await expect(eventsOf(kept)).rejects.toThrow('archived a day ago')
    await expect(
      db.query({ text: 'select purge_events($1, $2)', values: [test.tenant.organizationId, randomUUID()] }),
    ).rejects.toThrow('archived a day ago')
  })

  it('gains nothing from pretending to purge', async () => {
    const pretend = db.transaction(async tx => {
      await tx.query(`select set_config('berth.purging', '${kept.session.id}', true)`)
      await tx.query('delete from events')
    })
    await expect(pretend).rejects.toThrow('permission denied')
  })
})
