import { randomUUID } from 'node:crypto'
import { capabilities } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createInstallation, createTenant, type Tenant } from '@berth/testing/api/tenant.ts'
import { FeedReader } from '@berth/testing/events/feed-reader.ts'
import { LogWriter } from '@berth/testing/events/log-writer.ts'
import { type StreamingApp, startStreamingApp } from '@berth/testing/events/streaming-app.ts'
import { outcome, refusedFields } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { severable } from '@berth/testing/storage/severable-database.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FakeAuthority, installation } from '../../src/http/testing/test-app.ts'
import { loseSource } from '../../src/repositories/lost-source.ts'
import { appendEvents } from '../../src/sessions/log/append.ts'

let db: TestDatabase
let app: StreamingApp
let writer: LogWriter
beforeAll(async () => {
  db = await createTestDatabase()
  app = await startStreamingApp(db)
  writer = await LogWriter.open(db)
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await db[Symbol.asyncDispose]()
})

const follow = async (at: { tenant: Tenant; url?: string }, cursor?: number) => {
  const feed = await FeedReader.open({ url: at.url ?? app.url, apiKey: at.tenant.apiKey }, cursor)
  onTestFinished(() => feed[Symbol.asyncDispose]())
  return feed
}

/** Makes an installation with a Session. */
async function newTenant() {
  const tenant = await createTenant(db.database)
  const api = new Api(app.url, tenant.apiKey)
  return { tenant, api, key: keyOf(await api.createSession()) }
}

/** Returns the cursor of a feed that starts now. */
async function place(at: { tenant: Tenant }): Promise<number> {
  const feed = await follow(at)
  const cursor = await feed.opened
  await feed.leave()
  return cursor
}

/** Inserts Sessions that changed at a given time, without a wake-up. */
async function insertSessions({ organizationId, installationId }: Tenant, count: number, changedAt: Date) {
  const ids = Array.from({ length: count }, () => randomUUID())
  await db.database.query(
    `insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
    select $1, id, 'app_installation', $2, '', 'inserted', $4, $4 from unnest($3::uuid[]) id`,
    [organizationId, installationId, ids, changedAt],
  )
  return ids
}

/** Makes a Session look as if it had not changed for millions of transactions. */
const makeIdle = ({ sessionId }: SessionKey) =>
  db.database.query('update sessions set moved_in = -1 where id = $1', [sessionId])

const ago = (ms: number) => new Date(Date.now() - ms)

describe('the feed of changed sessions', () => {
  test('is open only to installations', async () => {
    const authority = new FakeAuthority()
    authority.grant('person', {
      ...installation,
      kind: 'person',
      membershipId: 'm',
      signInId: 's',
      role: 'member',
      permissions: new Set(),
      capabilities: new Set(capabilities),
    })
    await using people = await startStreamingApp(db, { authority })
    const answer = await new Api(people.url, 'person').get('/v1/sessions/stream')
    expect(outcome(answer)).toBe('403 installation_principal_required')
    expect(people.budget.open).toBe(0)
  })

  test('starts now without earlier changes, and has no other beginning', async () => {
    const at = await newTenant()
    await writer.append(at.key, 3)
    const feed = await follow(at)
    const later = keyOf(await at.api.createSession())
    await feed.reached(later.sessionId, 0)
    expect(feed.sessionIds).toEqual([later.sessionId])
    expect(refusedFields(await at.api.get('/v1/sessions/stream?after=1'))).toBe('400 invalid_request after')
  })

  test('omits earlier changes even if their notices arrive later', async () => {
    const at = await newTenant()
    const [before = ''] = await insertSessions(at.tenant, 1, new Date())
    const feed = await follow(at)
    await feed.opened
    publish(at.key, before)
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 1)
    publish(at.key, before)
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 2)
    expect(new Set(feed.sessionIds)).toEqual(new Set([at.key.sessionId]))
  })

  test('includes changes begun before and committed after its start, even without a wake-up', async () => {
    const at = await newTenant()
    await using proxy = await severable(db)
    await using shaky = await startStreamingApp({ ...db, connection: proxy.connection })
    const feed = await db.database.transaction(async tx => {
      await appendEvents(tx, at.key, [{ type: 'svc.test', data: {} }], ago(500))
      const opened = await follow({ ...at, url: shaky.url })
      await opened.opened
      return opened
    })
    await proxy.cut()
    await proxy.mend()
    await feed.reached(at.key.sessionId, 1)
    expect(feed.sessionIds).toEqual([at.key.sessionId])
  })

  test('omits earlier changes even when it looks for missed ones', async () => {
    const at = await newTenant()
    await insertSessions(at.tenant, 5, ago(2_000))
    await using proxy = await severable(db)
    await using shaky = await startStreamingApp({ ...db, connection: proxy.connection })
    const feed = await follow({ ...at, url: shaky.url })
    await feed.opened
    await proxy.cut()
    await writer.append(at.key)
    await proxy.mend()
    await feed.reached(at.key.sessionId, 1)
    expect(feed.sessionIds).toEqual([at.key.sessionId])
  })

  test('tells that a session moved and to which sequence, but not how', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    await writer.append(at.key, 7, { text: 'secret plans' })
    await feed.reached(at.key.sessionId, 7)
    const { lastEventSequence, updatedAt } = await at.api.session(at.key.sessionId)
    expect(feed.notices).toEqual([
      { cursor: expect.any(Number), data: { sessionId: at.key.sessionId, lastEventSequence, updatedAt } },
    ])
  })

  test('reports many appends within a window once', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    await feed.opened
    const start = performance.now()
    let newest = 0
    for (let n = 0; n < 10; n += 1) newest = await writer.append(at.key, 3)
    const windows = Math.floor((performance.now() - start) / 250) + 1
    await feed.reached(at.key.sessionId, newest)
    expect(feed.notices.length).toBeLessThanOrEqual(windows)
  })

  test('reports a flood of appends in few notices, the last of which is the newest', async () => {
    const at = await newTenant()
    const others = await Promise.all(Array.from({ length: 4 }, async () => keyOf(await at.api.createSession())))
    const feed = await follow(at)
    await feed.opened
    const start = performance.now()
    const appending = others.map(async key => {
      for (let n = 0; n < 150; n += 1) await writer.append(key)
    })
    await Promise.all(appending)
    await Promise.all(others.map(key => feed.reached(key.sessionId, 150)))
    const windows = Math.ceil((performance.now() - start) / 250) + 1
    for (const { sessionId } of others) {
      const own = feed.notices.filter(({ data }) => data.sessionId === sessionId)
      expect(own.length).toBeLessThanOrEqual(windows)
      const sequences = own.map(({ data }) => data.lastEventSequence ?? 0)
      expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
    }
  })

  test('misses no change with the same time as the previous one', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    const now = new Date(Date.now() + 5_000)
    for (let n = 1; n <= 3; n += 1) {
      await db.database.transaction(tx => appendEvents(tx, at.key, [{ type: 'svc.test', data: {} }], now))
      await writer.append(at.key)
      await feed.reached(at.key.sessionId, 2 * n)
    }
    await at.api.call('PATCH', `/v1/sessions/${at.key.sessionId}`, { title: 'another' })
    await until('the notice of the title', () => feed.notices.length === 4)
    expect(new Set(feed.notices.map(({ data }) => data.updatedAt))).toEqual(new Set([now.toISOString()]))
  })

  test('reports that a session was archived', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    const cursor = await feed.opened
    await at.api.call('DELETE', `/v1/sessions/${at.key.sessionId}`)
    await feed.reached(at.key.sessionId, 0)
    const resumed = await follow(at, cursor)
    await resumed.reached(at.key.sessionId, 0)
  })

  test('never shows a session of another installation or organization', async () => {
    const at = await newTenant()
    const stranger = await newTenant()
    const { organizationId, appSlug } = at.tenant
    const neighbour = { ...at.tenant, ...(await createInstallation(db.database, organizationId, appSlug)) }
    const theirs = new Api(app.url, neighbour.apiKey)
    const feed = await follow(at)
    const cursor = await feed.opened
    const resumed = await follow(at, cursor)
    const others = [stranger.key, keyOf(await theirs.createSession())]
    for (const key of others) await writer.append(key)
    await writer.append(at.key)
    await Promise.all([feed, resumed].map(reader => reader.reached(at.key.sessionId, 1)))
    for (const reader of [feed, resumed]) expect(new Set(reader.sessionIds)).toEqual(new Set([at.key.sessionId]))
    const otherFeed = await follow({ tenant: neighbour }, cursor)
    await otherFeed.reached(others[1]?.sessionId ?? '', 1)
    expect(new Set(otherFeed.sessionIds)).toEqual(new Set([others[1]?.sessionId]))
  })
})

describe('a feed that is resumed', () => {
  test('includes everything that changed after its cursor', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 1)
    const cursor = feed.notices.at(-1)?.cursor
    await feed.leave()
    const missed = keyOf(await at.api.createSession())
    await writer.append(missed, 2)
    const resumed = await follow(at, cursor)
    await resumed.reached(missed.sessionId, 2)
    expect(resumed.resets).toBe(0)
  })

  test('can be resumed even if it never had a notice', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    const cursor = await feed.opened
    await feed.leave()
    await writer.append(at.key)
    const resumed = await follow(at, cursor)
    await resumed.reached(at.key.sessionId, 1)
  })

  test('includes changes of a transaction that began before its cursor, however old their time is', async () => {
    const at = await newTenant()
    const other = keyOf(await at.api.createSession())
    const old = ago(48 * 60 * 60_000)
    await db.database.query('update sessions set updated_at = $2 where id = $1', [at.key.sessionId, old])
    const feed = await follow(at)
    await feed.opened
    const cursor = await db.database.transaction(async tx => {
      await appendEvents(tx, at.key, [{ type: 'svc.test', data: {} }], ago(24 * 60 * 60_000))
      await writer.append(other)
      await feed.reached(other.sessionId, 1)
      const newest = feed.notices.at(-1)?.cursor
      await feed.leave()
      return newest
    })
    const resumed = await follow(at, cursor)
    await resumed.reached(at.key.sessionId, 1)
    expect(resumed.resets).toBe(0)
  })

  test.each([1, 2])('finds a long idle session by %i appended events', async n => {
    const at = await newTenant()
    await makeIdle(at.key)
    const cursor = await place(at)
    const drafts = Array.from({ length: n }, () => ({ type: 'svc.test', data: {} }))
    await db.database.transaction(tx => appendEvents(tx, at.key, drafts, new Date()))
    const resumed = await follow(at, cursor)
    await resumed.reached(at.key.sessionId, n)
  })

  test('finds a long idle session by a statement that leaves its sequence unchanged', async () => {
    const at = await newTenant()
    await makeIdle(at.key)
    const cursor = await place(at)
    await db.database.transaction(tx => loseSource(tx, at.key, new Date()))
    const resumed = await follow(at, cursor)
    await resumed.reached(at.key.sessionId, 0)
  })

  test('keeps numbering its notices, so that no id repeats, whatever changes at the same moment', async () => {
    const at = await newTenant()
    const moment = new Date()
    const ids: number[] = []
    let cursor: number | undefined = await place(at)
    for (let round = 1; round <= 3; round += 1) {
      await insertSessions(at.tenant, 4, moment)
      const feed = await follow(at, cursor)
      await until('the notices of a round', () => feed.notices.length >= 4)
      ids.push(...feed.notices.map(notice => notice.cursor))
      cursor = ids.at(-1)
      await feed.leave()
    }
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
  })

  test('gives each notice its own position, so that a second disconnect loses none', async () => {
    const at = await newTenant()
    const cursor = await place(at)
    const ids: string[] = []
    for (let minute = 50; minute > 0; minute -= 1)
      ids.push(...(await insertSessions(at.tenant, 2, ago(minute * 60_000))))
    const feed = await follow(at, cursor)
    await until('all notices', () => feed.notices.length >= ids.length)
    const cursors = feed.notices.map(({ cursor }) => cursor)
    expect(cursors).toEqual([...new Set(cursors)].sort((a, b) => a - b))
    const tenth = feed.notices[9]
    const again = await follow(at, tenth?.cursor)
    await until('the rest', () => ids.slice(10).every(id => again.sessionIds.includes(id)))
  })

  test.each([
    ['the first of all', 0],
    ['one that this database has not come to', 2 ** 45],
  ])('starts with a reset if its cursor is %s', async (_, cursor) => {
    const at = await newTenant()
    await insertSessions(at.tenant, 1, ago(1_000))
    const feed = await follow(at, cursor)
    await feed.wasReset
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 1)
    expect(feed.sessionIds).toEqual([at.key.sessionId])
    expect(feed.resets).toBe(1)
  })

  test('is reset if more than a thousand sessions changed, and continues from there', async () => {
    // A Session from before would count as well while a transaction of another database holds the server's horizon back.
    const tenant = await createTenant(db.database)
    const cursor = await place({ tenant })
    await insertSessions(tenant, 1000, ago(1_000))
    const enough = await follow({ tenant }, cursor)
    await until('a thousand notices', () => enough.notices.length === 1000)
    await insertSessions(tenant, 1, ago(1_000))
    const feed = await follow({ tenant }, cursor)
    await feed.wasReset
    const { sessionId } = keyOf(await new Api(app.url, tenant.apiKey).createSession())
    await feed.reached(sessionId, 0)
    expect([enough.resets, feed.resets, feed.sessionIds]).toEqual([0, 1, [sessionId]])
  })

  test('is not reset again by changes that it has already reported', async () => {
    const at = await newTenant()
    await using proxy = await severable(db)
    await using shaky = await startStreamingApp({ ...db, connection: proxy.connection })
    const feed = await follow({ ...at, url: shaky.url })
    await feed.opened
    for (let round = 1; round <= 2; round += 1) {
      const ids = await insertSessions(at.tenant, 900, new Date())
      for (const id of ids) publish(at.key, id)
      await until('all notices', () => feed.notices.length === 900 * round)
    }
    await proxy.cut()
    await writer.append(at.key)
    await proxy.mend()
    await feed.reached(at.key.sessionId, 1)
    expect([feed.resets, feed.notices.length]).toEqual([0, 1801])
  })

  test('finds its own sessions among more changes of others than it remembers', async () => {
    const at = await newTenant()
    const feed = await follow(at)
    await feed.opened
    const own = await insertSessions(at.tenant, 3, new Date())
    for (const id of own) publish(at.key, id)
    for (let n = 0; n < 1500; n += 1) publish(at.key, randomUUID())
    await Promise.all(own.map(id => feed.reached(id, 0)))
    expect([feed.resets, feed.notices.length]).toEqual([0, 3])
  })

  test('takes a cursor in the far future for now', async () => {
    const at = await newTenant()
    const feed = await follow(at, Number.MAX_SAFE_INTEGER)
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 1)
  })
})

describe('a feed whose wake-ups are lost', () => {
  test('reports every change when they are back', async () => {
    const at = await newTenant()
    await using proxy = await severable(db)
    await using shaky = await startStreamingApp({ ...db, connection: proxy.connection })
    const feed = await follow({ ...at, url: shaky.url })
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 1)
    await proxy.cut()
    await writer.append(at.key)
    const created = await insertSessions(at.tenant, 3, new Date())
    await proxy.mend()
    await feed.reached(at.key.sessionId, 2)
    await Promise.all(created.map(id => feed.reached(id, 0)))
    await writer.append(at.key)
    await feed.reached(at.key.sessionId, 3)
  })
})

/** Publishes, from this process, that a Session has changed. */
function publish({ organizationId }: SessionKey, sessionId: string): void {
  writer.announce(topics.session(organizationId, sessionId))
}
