import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { searchSealed } from '@berth/server/console/search/search-sealed.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { openStream } from '@berth/testing/events/stream.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readNamedBlobs } from '../../src/housekeeping/named-blobs.ts'
import { sealLog, sealLogs } from '../../src/sessions/purge/seal-logs.ts'
import type { StoredEvent } from '../../src/sessions/streams/event-sql.ts'

const HOUR_MS = 60 * 60_000
const stack = new AsyncDisposableStack()
let test: TestService
/** The database as the service's role, which may not delete an Event. */
let db: PooledDatabase
let blobs: FileBlobs
let writer: LogWriter
beforeAll(async () => {
  test = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  db = openDatabase({ connection: test.db.connection, log: silentLog })
  stack.defer(() => db.close())
  blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
  writer = stack.use(await LogWriter.open(test.db))
})
afterAll(() => stack.disposeAsync())

const signal = () => AbortSignal.timeout(60_000)
const seal = (key: SessionKey, store: Pick<Blobs, 'put' | 'get'> = blobs) =>
  sealLog({ db, blobs: store as Blobs }, key, signal())

const archivedHoursAgo = (hours: number, { sessionId }: SessionKey) =>
  test.db.database.query('update sessions set archived_at = $2 where id = $1', [
    sessionId,
    new Date(Date.now() - hours * HOUR_MS),
  ])

/** Makes a Session whose log fills three pages, with letters of every kind and Events that are large. */
async function longLog(hours = 30): Promise<{ readonly key: SessionKey; readonly log: readonly StoredEvent[] }> {
  const key = keyOf(await test.api.createSession())
  await writer.append(key, 1_100, { text: 'ünï\u2028 "x"\n\\ 🚢' })
  await writer.append(key, 1, { text: 'needle' })
  await writer.append(key, 2, { large: 'x'.repeat(600_000) })
  await writer.append(key, 400, { text: 'after' })
  await archivedHoursAgo(hours, key)
  return { key, log: await storedLog(test.db, key) }
}

const rowsIn = async (table: 'events' | 'event_pages', { sessionId }: SessionKey): Promise<number> => {
  const { rows } = await test.db.database.query<{ count: number }>(
    `select count(*)::integer as count from ${table} where session_id = $1`,
    [sessionId],
  )
  return rows[0]?.count ?? 0
}

/** Reads the whole log over the API, page by page, as it is sent. */
async function readBack(key: SessionKey, limit: number): Promise<string> {
  const pages: string[] = []
  for (let after = 0; ; after += limit) {
    const { text } = await test.api.get(`/v1/sessions/${key.sessionId}/events?after=${after}&limit=${limit}`)
    const page = /^\{"events":\[(.*)\],"lastSequence":\d+\}$/s.exec(text)?.[1]
    if (page === undefined) throw new Error(`no page: ${text.slice(0, 200)}`)
    if (page === '') return pages.join(',')
    pages.push(page)
  }
}

const textOf = (log: readonly StoredEvent[]): string => log.map(({ envelope }) => envelope).join(',')

describe('a sealed log', () => {
  let key: SessionKey
  let log: readonly StoredEvent[]
  beforeAll(async () => {
    ;({ key, log } = await longLog())
    expect(await seal(key)).toBe(log.length - 1)
  })

  it('has one row left, and pages that the sweep of the store keeps', async () => {
    expect([await rowsIn('events', key), await rowsIn('event_pages', key)]).toEqual([1, 3])
    const { rows } = await test.db.database.query<{ sha256: string }>('select sha256 from event_pages')
    const named = new Set(await Array.fromAsync(readNamedBlobs(test.db.database)))
    expect(rows.every(({ sha256 }) => named.has(sha256))).toBe(true)
  })

  it.each([100, 37])('is paged byte for byte, %i at a time', async limit => {
    expect(await readBack(key, limit)).toBe(textOf(log))
  })

  it.each([0, 999, 1_100, 1_499])('is streamed byte for byte after %i', async after => {
    const url = `${test.url}/v1/sessions/${key.sessionId}/events/stream?after=${after}`
    await using stream = await openStream(url, { authorization: `Bearer ${test.tenant.apiKey}` })
    const expected = log.slice(after)
    const frames = await stream.take(expected.length)
    expect(frames.map(({ data }) => data).join(',')).toBe(textOf(expected))
  })

  it('is searched, the newest Event first', async () => {
    const window = { before: log.length, part: 'NEEDLE', events: 20_000, bytes: 32 * 1024 ** 2, limit: 200 }
    const found = log.find(({ envelope }) => envelope.includes('needle'))
    expect(await searchSealed({ db, blobs }, key, window)).toEqual({ reached: 1, rows: [found] })
    const bounded = await searchSealed({ db, blobs }, key, { ...window, part: 'after', limit: 3 })
    expect(bounded.reached).toBe(log.length - 3)
  })

  it('goes on with Events that come later', async () => {
    const newest = await writer.append(key, 3)
    expect(newest).toBe(log.length + 3)
    log = [
      ...log,
      ...(
        await test.db.database.query<StoredEvent>({
          text: 'select sequence, envelope from events where session_id = $1 and sequence > $2 order by sequence',
          values: [key.sessionId, log.length],
        })
      ).rows,
    ]
    expect(await readBack(key, 99)).toBe(textOf(log))
    expect(await seal(key)).toBe(3)
    expect(await readBack(key, 98)).toBe(textOf(log))
  })
})

describe('a process that dies while it seals', () => {
  class Killed extends Error {}
  const dies = () => Promise.reject(new Killed())

  it.each<readonly [string, (n: { puts: number; gets: number }) => boolean, number]>([
    ['before the first page is stored', ({ puts }) => puts === 1, 0],
    ['before it is read back', ({ gets }) => gets === 1, 0],
    ['between two pages', ({ puts }) => puts === 2, 1],
    ['before the last page is read back', ({ gets }) => gets === 3, 2],
  ])('%s loses and repeats nothing', async (_, diesAt, pages) => {
    const { key, log } = await longLog()
    const count = { puts: 0, gets: 0 }
    const store = {
      put: (content: Uint8Array | AsyncIterable<Uint8Array>) => {
        count.puts += 1
        return diesAt(count) ? dies() : blobs.put(content)
      },
      get: (sha256: string): Promise<Readable> => {
        count.gets += 1
        return diesAt(count) ? dies() : blobs.get(sha256)
      },
    }
    await expect(seal(key, store)).rejects.toThrow(Killed)
    expect(await rowsIn('event_pages', key)).toBe(pages)
    expect(await readBack(key, 100)).toBe(textOf(log))
    await seal(key)
    expect([await rowsIn('events', key), await rowsIn('event_pages', key)]).toEqual([1, 3])
    expect(await readBack(key, 99)).toBe(textOf(log))
  })

  it('is not noticed by a second one that does the same', async () => {
    const { key, log } = await longLog()
    const ends = await Promise.allSettled([seal(key), seal(key), seal(key)])
    expect(ends.some(({ status }) => status === 'fulfilled')).toBe(true)
    await seal(key)
    expect([await rowsIn('events', key), await rowsIn('event_pages', key)]).toEqual([1, 3])
    expect(await readBack(key, 100)).toBe(textOf(log))
  })
})

describe('the chore', () => {
  it('seals what was archived long enough ago, once, and is stopped by no log that it cannot seal', async () => {
    const [old, young, broken] = [await longLog(80), await longLog(60), await longLog(90)]
    // The database lets nothing of this one go, whatever the chore takes the time to be.
    await archivedHoursAgo(23, broken.key)
    const context = { db, blobs, log: silentLog }
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS)
    expect(await sealLogs(context, hoursAgo(70), signal())).toBe(old.log.length - 1)
    expect(await sealLogs(context, hoursAgo(70), signal())).toBe(0)
    expect(await rowsIn('events', young.key)).toBe(young.log.length)
    expect(await sealLogs(context, hoursAgo(1), signal())).toBeGreaterThanOrEqual(young.log.length - 1)
    expect([await rowsIn('events', young.key), await rowsIn('events', broken.key)]).toEqual([1, broken.log.length])
  })
})

describe('nobody but the chore', () => {
  const sealEvents = (key: SessionKey, through: number, digest = '0'.repeat(64)) =>
    db.query({
      text: 'select seal_events($1, $2, $3, $4, 1, $5)',
      values: [key.organizationId, key.sessionId, through, '0'.repeat(64), digest],
    })

  it('takes Events out of a log, and that only for a page of exactly these Events', async () => {
    const { key, log } = await longLog()
    await expect(sealEvents(key, 100)).rejects.toThrow('does not hold these events')
    await expect(sealEvents(key, log.length)).rejects.toThrow('leaves the newest event')
    await expect(sealEvents(key, 0)).rejects.toThrow('leaves the newest event')
    await archivedHoursAgo(23, key)
    await expect(sealEvents(key, 100)).rejects.toThrow('archived a day ago')
    await archivedHoursAgo(30, key)
    await expect(db.query('delete from events')).rejects.toThrow('permission denied')
    await expect(db.query('insert into event_pages values (null)')).rejects.toThrow('permission denied')
    await expect(db.query('delete from event_pages')).rejects.toThrow('permission denied')
    await seal(key)
    for (const change of ['delete from event_pages', "update event_pages set sha256 = ''", 'truncate event_pages'])
      await expect(db.query(change)).rejects.toThrow('permission denied')
    expect(await readBack(key, 100)).toBe(textOf(log))
  })
})
