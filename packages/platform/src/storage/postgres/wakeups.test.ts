import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurnOfTheLoop } from 'node:timers/promises'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { severable } from '@berth/testing/storage/severable-database.ts'
import { until } from '@berth/testing/until.ts'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clientConfig } from './pool.ts'
import { channelOf } from './wakeup-channels.ts'
import { PostgresWakeups, topics } from './wakeups.ts'

const db = await createTestDatabase()
afterAll(() => db[Symbol.asyncDispose]())

const log: Logger = pino({ level: 'silent' })
const session = topics.session('org', 'session')

interface Options {
  readonly name?: string
  readonly pauseMs?: (failures: number) => number
  readonly askMs?: number
  readonly connection?: pg.ClientConfig
}

/** Wake-ups as one process has them, until the test is over. */
async function process({ name = 'berth', connection = db.connection, ...options }: Options = {}) {
  const base = clientConfig({ connection: db.connection, log, applicationName: name })
  const wakeups = new PostgresWakeups({ connection: { ...base, ...connection }, log, ...options })
  onTestFinished(() => wakeups[Symbol.asyncDispose]())
  await wakeups.start()
  return wakeups
}

let probes = 0
/** Collects the calls of a topic's listener, from the moment at which the database knows of it. */
async function listen(wakeups: PostgresWakeups, topic: string): Promise<(string | null)[]> {
  const heard: (string | null)[] = []
  wakeups.subscribe(topic, moved => heard.push(moved))
  probes += 1
  await new Promise(resolve => wakeups.subscribe(`probe${probes}`, resolve))
  heard.length = 0
  return heard
}

/** Collects the payloads that go over a channel of the database. */
async function capturePayloads(channel: string): Promise<string[]> {
  const payloads: string[] = []
  const client = new pg.Client(db.connection)
  onTestFinished(() => client.end())
  client.on('notification', ({ payload }) => payloads.push(payload ?? ''))
  await client.connect()
  await client.query(`listen ${channel}`)
  return payloads
}

async function terminate(name: string): Promise<void> {
  const { rows } = await db.database.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid) as ended from pg_stat_activity
     where datname = current_database() and application_name = $1`,
    [name],
  )
  expect(rows).toEqual([{ ended: true }])
}

describe('two processes on one database', () => {
  test('hear each other, and each hears itself at once and only once', async () => {
    const [a, b] = [await process(), await process()]
    const [heardByA, heardByB] = [await listen(a, session), await listen(b, session)]
    a.publish(session)
    expect(heardByA).toEqual([session])
    await until('b to hear a', () => heardByB.length === 1)
    b.publish(session)
    await until('a to hear b', () => heardByA.length === 2)
    expect([heardByA, heardByB]).toEqual([
      [session, session],
      [session, session],
    ])
  })

  test('hear the Sessions of an organization, and nothing else', async () => {
    const [a, b] = [await process(), await process()]
    const other = topics.session('other', 'session')
    const heard = [await listen(a, topics.organization('org')), await listen(b, topics.organization('org'))]
    const others = [await listen(a, other), await listen(b, other)]
    a.publish(other, topics.control('org', 'session'), topics.queue, `${session}/deeper`)
    a.publish(session)
    await until('all', () => [...heard, ...others].every(({ length }) => length > 0))
    expect([heard, others]).toEqual([
      [[session], [session]],
      [[other], [other]],
    ])
  })

  test('hear nothing after they stop listening', async () => {
    const [a, b] = [await process(), await process()]
    const heard: unknown[] = []
    const unsubscribe = b.subscribe(session, topic => heard.push(topic))
    const rest = await listen(b, session)
    heard.length = 0
    unsubscribe()
    unsubscribe()
    a.publish(session)
    await until('the listener that stayed', () => rest.length === 1)
    expect(heard).toEqual([])
  })
})

describe('a process', () => {
  test('is sent nothing of what it does not follow', async () => {
    const [a, b] = [await process(), await process()]
    // Whatever goes over the channels of all, of the queue and of another Session.
    const other = topics.session('org', 'other')
    const captured = await Promise.all(['berth', channelOf(topics.queue), channelOf(other)].map(capturePayloads))
    const heard = await listen(b, session)
    a.publish(session)
    await until('b to hear', () => heard.length === 1)
    a.publish(other, topics.queue)
    await until('the others to hear', () => captured.flat().length === 2)
    expect(captured.map(payloads => payloads.length)).toEqual([0, 1, 1])
    expect(heard).toEqual([session])
  })

  test('is told when the database knows of a subscription, but of the first to a channel alone', async () => {
    const a = await process()
    const [one, two]: [unknown[], unknown[]] = [[], []]
    a.subscribe(session, topic => one.push(topic))
    await until('the first to be told', () => one.length === 1)
    a.subscribe(session, topic => two.push(topic))
    await listen(a, topics.queue)
    expect([one, two]).toEqual([[null], []])
  })

  test('leaves the channels that it has stopped following, unless it follows them again soon', async () => {
    const query = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => query.mockRestore())
    const sent = () => query.mock.calls.map(([statement]) => String(statement)).filter(text => text.includes('listen'))
    // bound: a pause between two looks
    const a = await process({ askMs: 20 })
    const unsubscribe = a.subscribe(session, () => {})
    await listen(a, topics.queue)
    unsubscribe()
    const channel = channelOf(session)
    await until('the channel to be left', () => sent().includes(`unlisten ${channel}`))
    const heard = await listen(a, session)
    expect(sent().filter(text => text.includes(channel))).toHaveLength(3)
    a.publish(session)
    expect(heard).toEqual([session])
  })
})

test('a connection gets one statement at a time', async () => {
  const a = await process()
  const { query } = pg.Client.prototype
  let [running, most] = [0, 0]
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    running += 1
    most = Math.max(most, running)
    return await Reflect.apply(query, this, args).finally(() => (running -= 1))
  } as typeof query)
  onTestFinished(() => spy.mockRestore())
  a.publish(session)
  a.subscribe(session, () => {})
  const numbers = [1, 2, 3].map(n => a.inSession<{ n: number }>({ text: 'select $1::int as n', values: [n] }))
  expect((await Promise.all(numbers)).map(answer => answer?.rows)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]])
  await a.known(session)
  expect(most).toBe(1)
})

describe('a published topic', () => {
  test('goes out in a payload that PostgreSQL accepts', async () => {
    const organization = topics.organization('org')
    const [a, b, payloads] = [await process(), await process(), await capturePayloads(channelOf(organization))]
    const many = Array.from({ length: 400 }, (_, n) => topics.session('org', `${n}`.padStart(36, '0')))
    const heard = await listen(b, organization)
    a.publish(...many)
    await until('all topics', () => heard.length === many.length)
    expect(heard).toEqual(many)
    await until('all payloads', () => payloads.flatMap(payload => payload.split('\n').slice(1)).length === many.length)
    expect(payloads.length).toBeGreaterThan(1)
    expect(Math.max(...payloads.map(payload => Buffer.byteLength(payload)))).toBeLessThan(8000)
  })

  test('goes out with all others of its turn: ten thousand of them are one notification', async () => {
    const organization = topics.organization('storm')
    const [a, b, payloads] = [await process(), await process(), await capturePayloads(channelOf(organization))]
    const stormy = Array.from({ length: 20 }, (_, n) => topics.session('storm', String(n)))
    const heard = await listen(b, organization)
    for (let n = 0; n < 10_000; n += 1) a.publish(stormy[n % stormy.length] ?? '')
    await until('each topic', () => heard.length >= stormy.length)
    expect(new Set(heard)).toEqual(new Set(stormy))
    for (let turn = 0; turn < 100; turn += 1) {
      for (let n = 0; n < 100; n += 1) a.publish(stormy[n % stormy.length] ?? '')
      await nextTurnOfTheLoop()
    }
    a.publish(topics.session('storm', 'last'))
    await until('the last', () => heard.at(-1) === topics.session('storm', 'last'))
    expect(payloads[0]?.split('\n').length).toBe(1 + stormy.length)
    expect(payloads.length).toBeLessThanOrEqual(102)
  })

  test('is still heard if its process stops right after', async () => {
    const [a, b] = [await process(), await process()]
    const heard = await listen(b, session)
    a.publish(session)
    await a[Symbol.asyncDispose]()
    await until('the last words', () => heard.length === 1)
  })
})

describe('a lost connection', () => {
  test('waits longer after each failure to connect, and starts anew once a connection stands', async () => {
    await using way = await severable(db)
    const failures: number[] = []
    const a = await process({
      connection: way.connection,
      pauseMs: failure => {
        failures.push(failure)
        return 1
      },
    })
    await way.cut()
    await until('three attempts', async () => failures.length >= 3)
    expect(failures.slice(0, 3)).toEqual([1, 2, 3])
    await way.mend()
    await until('the connection', async () => a.live)
    failures.length = 0
    await way.cut()
    await until('another attempt', async () => failures.length > 0)
    expect(failures[0]).toBe(1)
  })

  test('tells every listener at once, so that it polls, and again when it is back', async () => {
    await using way = await severable(db)
    const a = await process({ connection: way.connection, pauseMs: () => 10 })
    const [one, two] = [await listen(a, session), await listen(a, topics.queue)]
    expect(a.live).toBe(true)
    await way.cut()
    await until('everyone to be told', () => one.length > 0 && two.length > 0)
    expect([a.live, one, two]).toEqual([false, [null], [null]])
    await way.mend()
    await until('everyone to be woken', () => one.length > 1 && two.length > 1)
    expect([a.live, one, two]).toEqual([true, [null, null], [null, null]])
    const b = await process()
    b.publish(session)
    await until('the new connection to hear', () => one.length === 3)
  })

  test('delays the topics published meanwhile and drops none of them', async () => {
    const [a, b] = [await process({ name: 'away', pauseMs: () => 300 }), await process()]
    const [heardByA, heardByB] = [await listen(a, topics.queue), await listen(b, topics.organization('org'))]
    await terminate('away')
    const published = Array.from({ length: 50 }, (_, n) => topics.session('org', String(n)))
    for (const topic of published) {
      a.publish(topic)
      await nextTurnOfTheLoop()
    }
    await until('a to be back', () => a.live && heardByA.length > 0)
    await until('b to hear of all', () => new Set(heardByB).size === published.length)
    expect(new Set(heardByB)).toEqual(new Set(published))
  })

  test('wakes every listener instead if too many topics were published meanwhile', async () => {
    await using way = await severable(db)
    const [a, b] = [await process({ connection: way.connection, pauseMs: () => 10 }), await process()]
    const heard = await listen(b, topics.queue)
    await way.cut()
    await until('the loss', () => !a.live)
    for (let n = 0; n <= 10_000; n += 1) a.publish(topics.session('org', String(n)))
    await way.mend()
    await until('a to be back', () => a.live)
    await until('b to hear', () => heard.length > 0)
    expect(heard).toEqual([null])
  })

  test('is detected by a query even if it died silently', async () => {
    await using proxy = await freezableProxy()
    const connection = { host: '127.0.0.1', port: proxy.port, query_timeout: 200 }
    // bound: a pause between two looks
    const a = await process({ connection, pauseMs: () => 10, askMs: 20 })
    const heard = await listen(a, session)
    proxy.freeze()
    await until('the connection to be made again', () => a.live && heard.includes(null))
    const b = await process()
    b.publish(session)
    await until('the new connection to hear', () => heard.includes(session))
  })
})

/** Proxies the database over connections that can be frozen; later ones work. */
async function freezableProxy() {
  const sockets = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(join(db.connection.host, `.s.PGSQL.${db.connection.port}`))
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
