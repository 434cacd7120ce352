import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { LogReader } from '@berth/testing/events/log-reader.ts'
import { LogWriter, storedLog } from '@berth/testing/events/log-writer.ts'
import { openStream } from '@berth/testing/events/stream.ts'
import { startStreamingApp } from '@berth/testing/events/streaming-app.ts'
import { refusedFields } from '@berth/testing/runs/outcome.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { severable } from '@berth/testing/storage/severable-database.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listEventsWithin } from '../../src/sessions/streams/event-sql.ts'

const variables = { BERTH_ROLES: 'api' }
let service: TestService
let writer: LogWriter
beforeAll(async () => {
  service = await startTestService({ variables })
  writer = await LogWriter.open(service.db)
})
afterAll(async () => {
  await writer[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const newSession = async (): Promise<SessionKey> => keyOf(await service.api.createSession())
const read = async (key: SessionKey, after = 0, url = service.url) => {
  const reader = await LogReader.open({ url, apiKey: service.tenant.apiKey }, key, after)
  onTestFinished(() => reader[Symbol.asyncDispose]())
  return reader
}
const streamPath = ({ sessionId }: SessionKey) => `/v1/sessions/${sessionId}/events/stream`
const oneTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

describe('a stream', () => {
  test('sends something before it has read anything', async () => {
    await using app = await startStreamingApp(service.db)
    const release = app.statements.hold('find-newest-sequence')
    const key = await newSession()
    const authorization = `Bearer ${service.tenant.apiKey}`
    await using stream = await openStream(app.url + streamPath(key), { authorization })
    expect(await stream.next()).toMatch(/^:/)
    release()
  })

  test.each(['-1', '1.5', 'x', '1e3', '0x1', ''])(
    'refuses the cursor %j, in its header and its query',
    async cursor => {
      const path = streamPath(await newSession())
      const byHeader = await service.api.get(path, { 'last-event-id': cursor })
      const byQuery = await service.api.get(`${path}?after=${cursor}`)
      expect([byHeader, byQuery].map(refusedFields)).toEqual([
        '400 invalid_request last-event-id',
        '400 invalid_request after',
      ])
    },
  )

  test.each([2, Number.MAX_SAFE_INTEGER])('waits at a cursor beyond the newest event: %i', async cursor => {
    const key = await newSession()
    const [waiting, all] = [await read(key, cursor), await read(key)]
    await writer.append(key, 2)
    await all.reached(2)
    await writer.append(key)
    await all.reached(3)
    if (cursor === 2) await waiting.reached(3)
    expect(waiting.sequences).toEqual(cursor === 2 ? [3] : [])
  })

  test('carries the bytes of the table, and so does the page', async () => {
    const key = await newSession()
    await writer.append(key, 3, { text: 'täglich 😀 "\\" \u2028 </script>\n\t\u0001', number: 1e21 })
    const reader = await read(key)
    await reader.reached(3)
    const table = await storedLog(service.db, key)
    expect(reader.received).toEqual(table)
    const { text } = await service.api.get(`/v1/sessions/${key.sessionId}/events`)
    expect(text).toBe(`{"events":[${table.map(({ envelope }) => envelope).join(',')}],"lastSequence":3}`)
  })

  test('opened at any point amid appends brings every event after its cursor once, in order', async () => {
    const key = await newSession()
    let newest = await writer.append(key, 5)
    const appending = Array.from({ length: 4 }, async (_, n) => {
      for (let left = 500; left > 0; ) {
        const count = Math.min(left, 1 + ((n + left) % 4))
        newest = Math.max(newest, await writer.append(key, count))
        left -= count
      }
    })
    const readers: { after: number; reader: LogReader }[] = []
    for (let n = 0; n < 20; n += 1) {
      await until('some more events', () => newest >= 90 * n)
      const after = Math.floor(Math.random() * newest)
      readers.push({ after, reader: await read(key, after) })
    }
    await Promise.all(appending)
    await Promise.all(readers.map(({ reader }) => reader.reached(2005)))
    const table = await storedLog(service.db, key)
    expect(table.map(({ sequence }) => sequence)).toEqual(oneTo(2005))
    for (const { after, reader } of readers) expect(reader.received).toEqual(table.slice(after))
  })

  test('shares its reads with the other streams of its session', async () => {
    await using app = await startStreamingApp(service.db)
    const key = await newSession()
    const newest = await writer.append(key, 10)
    const readers = await Promise.all(Array.from({ length: 30 }, () => read(key, newest, app.url)))
    await until('all streams to be open', () => app.budget.open === 30)
    const before = app.statements.count('list-events-within')
    for (let n = 1; n <= 40; n += 1) {
      await writer.append(key)
      await Promise.all(readers.map(reader => reader.reached(newest + n)))
    }
    // One read for each append; the slow poll may add its own.
    expect(app.statements.count('list-events-within') - before).toBeLessThanOrEqual(45)
    expect(app.streams.tails).toBe(1)
    await Promise.all(readers.map(reader => reader.leave()))
    await until('all places to be given back', () => app.budget.open === 0)
    expect(app.streams.tails).toBe(0)
  })

  test('includes events appended while it opened, and not only through the slow poll', async () => {
    await using app = await startStreamingApp(service.db)
    const key = await newSession()
    await writer.append(key)
    const release = app.statements.hold('find-newest-sequence', 'answer')
    const [first, second] = [await read(key, 0, app.url), await read(key, 1, app.url)]
    await until('the newest sequence to be read', () => app.statements.count('find-newest-sequence') === 1)
    const elsewhere = await read(key)
    await writer.append(key)
    await elsewhere.reached(2)
    release()
    await Promise.all([first.reached(2, 4_000), second.reached(2, 4_000)])
    expect([first.sequences, second.sequences]).toEqual([[1, 2], [2]])
  })

  test.each(['find-newest-sequence', 'list-events-within'])(
    'continues without a gap after the database was away: %s',
    async statement => {
      await using proxy = await severable(service.db)
      await using app = await startStreamingApp({ ...service.db, connection: proxy.connection })
      const key = await newSession()
      const newest = await writer.append(key, 3)
      const tailing = await read(key, newest, app.url)
      await writer.append(key, 300)
      await tailing.reached(303)
      const other = await newSession()
      await writer.append(other, 500)
      const before = app.statements.count(statement)
      const release = app.statements.hold(statement)
      const beginning = await read(other, 2, app.url)
      await until('the statement', () => app.statements.count(statement) > before)
      await proxy.cut()
      release()
      await writer.append(key, 500)
      await writer.append(other)
      await proxy.mend()
      await Promise.all([tailing.reached(803), beginning.reached(501)])
      expect(tailing.sequences).toEqual(oneTo(803).slice(3))
      expect(beginning.sequences).toEqual(oneTo(501).slice(2))
    },
  )
})

describe('the log', () => {
  test('takes appends from many connections without gaps, each once, each connection in its order', async () => {
    const key = await newSession()
    const numbers = await Promise.all(
      Array.from({ length: 8 }, async (_, connection) => {
        const own: number[] = []
        for (let n = 0; n < 200; n += 1) own.push(await writer.append(key, 1, { connection, n }))
        return own
      }),
    )
    for (const own of numbers) expect(own).toEqual([...own].sort((a, b) => a - b))
    const table = await storedLog(service.db, key)
    expect(table.map(({ sequence }) => sequence)).toEqual(oneTo(1600))
    const events = table.map(({ envelope }) => JSON.parse(envelope))
    expect(events.map(({ sequence }) => sequence)).toEqual(oneTo(1600))
    for (const [connection, own] of numbers.entries()) {
      const mine = events.filter(({ data }) => data.connection === connection)
      expect(mine.map(({ data }) => data.n)).toEqual(Array.from({ length: 200 }, (_, n) => n))
      expect(mine.map(({ sequence }) => sequence)).toEqual(own)
    }
    expect((await service.api.session(key.sessionId)).lastEventSequence).toBe(1600)
  })

  test('has no gap where an append was rolled back', async () => {
    const key = await newSession()
    await writer.append(key, 2)
    const { database } = service.db
    const failing = database.transaction(async tx => {
      await tx.query('update sessions set last_event_sequence = last_event_sequence + 7 where id = $1', [key.sessionId])
      throw new Error('changed its mind')
    })
    await expect(failing).rejects.toThrow('changed its mind')
    expect(await writer.append(key)).toBe(3)
  })

  test.each([
    "update events set envelope = '{}' where session_id = $1",
    'update events set sequence = sequence + 1 where session_id = $1',
    'delete from events where session_id = $1',
    'truncate events',
    'truncate events cascade',
  ])('cannot be changed by the service: %s', async statement => {
    const key = await newSession()
    await writer.append(key, 2)
    const before = await storedLog(service.db, key)
    const values = statement.includes('$1') ? [key.sessionId] : []
    await using own = openDatabase({ connection: service.db.connection, log: silentLog })
    await expect(own.query(statement, values)).rejects.toMatchObject({ code: '42501' })
    expect(await storedLog(service.db, key)).toEqual(before)
  })

  test('is read no further than the event that fills the bound in bytes', async () => {
    const key = await newSession()
    for (let n = 0; n < 5; n += 1) await writer.append(key, 1, { text: 'x'.repeat(1000) })
    const within = async (after: number, events: number, bytes: number) =>
      (await listEventsWithin(service.db.database, key, after, { events, bytes })).map(({ sequence }) => sequence)
    expect(await within(0, 9, 1)).toEqual([1])
    expect(await within(1, 9, 2500)).toEqual([2, 3, 4])
    expect(await within(1, 2, 2500)).toEqual([2, 3])
    expect(await within(5, 9, 1)).toEqual([])
  })
})

describe('the budget', () => {
  const small = { streamsPerAuthority: 3, streamsPerProcess: 5 }

  test("refuses streams beyond an authority's or the process's places, and takes places back", async () => {
    await using limited = await startTestService({ variables, fixed: small })
    const [mine, theirs] = [limited, await limited.newTenant()]
    const open = async ({ api, tenant }: typeof theirs, feed = false) => {
      const session = await api.createSession()
      const path = feed ? '/v1/sessions/stream' : streamPath(keyOf(session))
      return openStream(limited.url + path, { authorization: `Bearer ${tenant.apiKey}` })
    }
    const opened = [await open(mine), await open(mine), await open(mine, true)]
    expect(opened.map(({ status }) => status)).toEqual([200, 200, 200])

    for (const path of [streamPath(keyOf(await mine.api.createSession())), '/v1/sessions/stream']) {
      const { status, headers, text } = await mine.api.get(path)
      expect([status, headers.get('retry-after')]).toEqual([429, '2'])
      expect(text).toBe('{"error":"cloud_rate_limit_exceeded","retryAfterSeconds":2}')
    }

    const others = [await open(theirs), await open(theirs)]
    expect(others.map(({ status }) => status)).toEqual([200, 200])
    const full = await theirs.api.get(streamPath(keyOf(await theirs.api.createSession())))
    expect([full.status, full.headers.get('retry-after'), full.text]).toEqual([
      503,
      '2',
      '{"error":"event_stream_unavailable"}',
    ])

    await opened[0]?.[Symbol.asyncDispose]()
    await until('the place to be given back', async () => {
      const stream = await open(theirs)
      return stream.status === 200
    })
  })

  test('recovers the places of clients that leave before their stream begins, and of refused clients', async () => {
    await using app = await startStreamingApp(service.db, { allowance: { perAuthority: 8, perProcess: 8 } })
    const key = await newSession()
    const authorization = `Bearer ${service.tenant.apiKey}`
    const release = app.statements.hold('find-session')
    const leaving = new AbortController()
    const requests = Array.from({ length: 8 }, () =>
      fetch(app.url + streamPath(key), { headers: { authorization }, signal: leaving.signal }).catch(() => null),
    )
    await until('the requests to be under way', () => app.statements.count('find-session') === 8)
    leaving.abort()
    await Promise.all(requests)
    const { status } = await fetch(`${app.url}/v1/capabilities`, { headers: { authorization } })
    expect(status).toBe(200)
    release()
    const unknown = { ...key, sessionId: '5d1f0a2b-7c3e-4b68-8d9f-1a2b3c4d5e6f' }
    expect((await fetch(app.url + streamPath(unknown), { headers: { authorization } })).status).toBe(404)
    // A place is taken in the step after this answer.
    await until('every session to be found', () => app.statements.answered('find-session') === 9)
    await until('the places to be given back', () => app.budget.open === 0)
    const readers = await Promise.all(Array.from({ length: 8 }, () => read(key, 0, app.url)))
    expect(app.budget.open).toBe(8)
    await Promise.all(readers.map(reader => reader.leave()))
    await until('the places to be given back again', () => app.budget.open === 0)
  })
})

describe('the end of a stream', () => {
  test('comes with its age, and a client that resumes misses nothing', async () => {
    // bound: streams are to reach this age
    const short = { streamMinMs: 1000, streamMaxMs: 1000 }
    await using aged = await startTestService({ variables, fixed: short })
    await using elsewhere = await LogWriter.open(aged.db)
    const key = keyOf(await aged.api.createSession())
    const done = new AbortController()
    const appending = (async () => {
      while (!done.signal.aborted) {
        await elsewhere.append(key, 2)
        // bound: a pause between two appends
        await sleep(5)
      }
    })()
    const received: number[] = []
    // A second may bring nothing on a busy machine.
    for (let lives = 0; lives < 2; ) {
      await using reader = await LogReader.open({ url: aged.url, apiKey: aged.tenant.apiKey }, key, received.length)
      const end = await reader.ended
      expect(end.whole).toBe(true)
      expect(end.retryMs).toBeGreaterThanOrEqual(0)
      expect(end.retryMs).toBeLessThanOrEqual(1000)
      if (reader.received.length > 2) lives += 1
      received.push(...reader.sequences)
    }
    done.abort()
    await appending
    expect(received).toEqual(oneTo(received.length))
  })

  test('comes when its credential is revoked, and to no other stream', async () => {
    // bound: a pause between two looks at what a stream may show
    await using strict = await startTestService({ variables, fixed: { streamAuthorityMs: 1000 } })
    await using elsewhere = await LogWriter.open(strict.db)
    const other = await strict.newTenant()
    const keys = [keyOf(await strict.api.createSession()), keyOf(await other.api.createSession())] as const
    await using revoked = await LogReader.open({ url: strict.url, apiKey: strict.tenant.apiKey }, keys[0])
    await using unaffected = await LogReader.open({ url: strict.url, apiKey: other.tenant.apiKey }, keys[1])
    await strict.db.database.query('update installations set revoked_at = now() where id = $1', [
      strict.tenant.installationId,
    ])
    expect(await revoked.ended).toEqual({ whole: true, retryMs: null })
    const reopened = LogReader.open({ url: strict.url, apiKey: strict.tenant.apiKey }, keys[0])
    await expect(reopened).rejects.toThrow('401')
    await elsewhere.append(keys[1], 1)
    await unaffected.reached(1)
  })

  test('comes to all when the service stops amid appends; their returns are spread, and they miss nothing', async () => {
    const key = await newSession()
    const stopping = await startStreamingApp(service.db)
    const readers = await Promise.all(Array.from({ length: 12 }, () => read(key, 0, stopping.url)))
    const done = new AbortController()
    const appending = Promise.all(
      Array.from({ length: 3 }, async () => {
        while (!done.signal.aborted) await writer.append(key, 2)
      }),
    )
    await Promise.all(readers.map(reader => reader.reached(200)))
    await stopping.close()
    const ends = await Promise.all(readers.map(reader => reader.ended))
    expect(ends.every(({ whole }) => whole)).toBe(true)
    const retries = ends.map(({ retryMs }) => retryMs ?? -1)
    expect(Math.min(...retries)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...retries)).toBeLessThan(30_000)
    expect(new Set(retries).size).toBeGreaterThan(6)

    await using next = await startStreamingApp(service.db)
    const resumed = await Promise.all(readers.map(({ received }) => read(key, received.length, next.url)))
    done.abort()
    await appending
    const table = await storedLog(service.db, key)
    await Promise.all(resumed.map(reader => reader.reached(table.length)))
    for (const [n, reader] of readers.entries()) {
      expect([...reader.received, ...(resumed[n]?.received ?? [])]).toEqual(table)
    }
  })

  test('comes to a reader that takes nothing, while the others of its session continue', async () => {
    await using app = await startStreamingApp(service.db)
    const key = await newSession()
    const { port } = new URL(app.url)
    const stalled = connect(Number(port), '127.0.0.1')
    onTestFinished(() => void stalled.destroy())
    stalled.on('error', () => {})
    stalled.pause()
    const head = [`GET ${streamPath(key)} HTTP/1.1`, 'host: a', `authorization: Bearer ${service.tenant.apiKey}`]
    stalled.write(`${head.join('\r\n')}\r\n\r\n`)
    const others = [await read(key, 0, app.url), await read(key, 0, app.url)]
    await until('three streams', () => app.budget.open === 3)
    // More than the two sockets hold between them.
    for (let n = 0; n < 40; n += 1) await writer.append(key, 10, { text: 'x'.repeat(65_536) })
    await Promise.all(others.map(reader => reader.reached(400)))
    await until('the stalled stream to be closed', () => app.budget.open === 2)
    await writer.append(key)
    await Promise.all(others.map(reader => reader.reached(401)))
    for (const reader of others) expect(reader.sequences).toEqual(oneTo(401))
  })
})
