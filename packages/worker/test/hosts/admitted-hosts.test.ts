import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { deleteHost, listHosts } from '@berth/core/hosts/host-sql.ts'
import { GuessMeter } from '@berth/core/identity/guard/guess-meter.ts'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { dialHost, makeToken } from '@berth/testing/hosts/dialled-host.ts'
import { type TakingHosts, takeHosts } from '@berth/testing/hosts/taking-hosts.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'

let db: TestDatabase
let taking: TakingHosts
beforeAll(async () => {
  db = await createTestDatabase()
  taking = await takeHosts(db)
})
afterAll(async () => {
  await taking[Symbol.asyncDispose]()
  await db[Symbol.asyncDispose]()
})
afterEach(() => db.database.query('delete from hosts'))

const rowOf = async (id: string) => (await listHosts(db.database)).find(host => host.id === id)

it('lets the token bound what a host says of itself', async () => {
  const { id, token } = await makeToken(db.database, { pool: 'gpu', capacity: 5, labels: { disk: 'nvme', zone: 'a' } })
  const facts = { capacity: 50, labels: { zone: 'b', rack: '7' } }
  const first = await dialHost(taking.port, token, facts)
  expect(await rowOf(id)).toMatchObject({ pool: 'gpu', capacity: 5, labels: { disk: 'nvme', zone: 'a', rack: '7' } })
  const second = await dialHost(taking.port, token, { capacity: 3, pool: 'gpu' })
  expect(await rowOf(id)).toMatchObject({ capacity: 3, labels: { disk: 'nvme', zone: 'a' } })
  // What it offered before does not bound it; its token does.
  const third = await dialHost(taking.port, token, { capacity: 4 })
  expect(await rowOf(id)).toMatchObject({ capacity: 4, labels: { disk: 'nvme', zone: 'a' } })
  for (const { line } of [first, second, third]) line.destroy()
})

it('takes the word of a host whose token says nothing', async () => {
  const { id, token } = await makeToken(db.database)
  const { line } = await dialHost(taking.port, token, { capacity: 70, labels: { zone: 'b' } })
  expect(await rowOf(id)).toMatchObject({ pool: 'default', capacity: 70, labels: { zone: 'b' } })
  line.destroy()
})

it('refuses a host that names another pool, and changes nothing', async () => {
  const { id, token } = await makeToken(db.database, { pool: 'cpu' })
  await expect(dialHost(taking.port, token, { pool: 'gpu', capacity: 9 })).rejects.toMatchObject({
    status: 403,
    message: 'its token is for the pool cpu, and the host says gpu',
  })
  expect(await rowOf(id)).toMatchObject({ pool: 'cpu', capacity: null })
  await expect(dialHost(taking.port, token, { pool: 'No Pool' })).rejects.toMatchObject({ status: 400 })
})

it('keeps a removed host closed, and of its organization, while a process still holds it', async () => {
  const { rows } = await db.database.query<{ id: string }>(
    "insert into organizations (id, name, created_at) values (gen_random_uuid(), 'own', now()) returning id",
  )
  const { id, token } = await makeToken(db.database, { organizationId: rows[0]?.id ?? '' })
  const { line } = await dialHost(taking.port, token)
  await until('it is held', () => taking.hosts.holds(id))
  expect(await deleteHost(db.database, id)).toMatchObject({ organization_id: rows[0]?.id })
  expect(await rowOf(id)).toBeUndefined()
  const about = { driver: 'remote', runtimes: [], patienceMs: 60_000, packagesFault: null }
  await announceHost(db.database, { id, ...about }, new Date())
  expect(await rowOf(id)).toBeUndefined()
  const kept = await db.database.query('select organization_id, cordoned_at is not null as closed from hosts')
  expect(kept.rows).toEqual([{ organization_id: rows[0]?.id, closed: true }])
  await until('it is let go', () => !taking.hosts.holds(id))
  await db.database.query({ text: 'delete from hosts where id = $1', values: [id] })
  await announceHost(db.database, { id, ...about }, new Date())
  expect((await db.database.query('select from hosts')).rowCount).toBe(0)
  await line.closed
  await expect(dialHost(taking.port, token)).rejects.toMatchObject({ status: 401 })
})

it('notes a host of another release, until it connects', async () => {
  const { id, token } = await makeToken(db.database)
  const stranger = await makeToken(db.database)
  const dial = async (upgrade: string, bearer: string) => {
    const headers = { Connection: 'Upgrade', Upgrade: upgrade, Authorization: `Bearer ${bearer}` }
    const sent = request({ port: taking.port, path: '/hosts/connect', headers }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return [response.statusCode, (await text(response)).trim()]
  }
  const message = 'this service speaks berth-host/1: install the release of the service on the host'
  expect(await dial('berth-host/0', token)).toEqual([426, message])
  expect(await rowOf(id)).toMatchObject({ state: 'outdated' })
  // Neither an unknown token nor another protocol says anything of a host.
  expect(await dial('berth-host/0', 'a-token-that-nobody-made')).toEqual([426, message])
  expect(await dial('websocket', stranger.token)).toEqual([426, message])
  expect((await rowOf(stranger.id))?.state).not.toBe('outdated')
  const { line } = await dialHost(taking.port, token)
  expect(await rowOf(id)).toMatchObject({ state: 'ready' })
  // Another machine with its token says nothing of the one that is held.
  expect(await dial('berth-host/0', token)).toEqual([426, message])
  await announceHost(
    db.database,
    { id, driver: 'remote', runtimes: [], patienceMs: 60_000, packagesFault: null },
    new Date(),
  )
  expect(await rowOf(id)).toMatchObject({ state: 'ready' })
  line.destroy()
})

it('keeps one line of a host that does not say what it is, and that one not for long', async () => {
  await using taken = await takeHosts(db, 'impatient', undefined, 1_000)
  const { token } = await makeToken(db.database)
  const silent = { handlers: { facts: () => new Promise(() => undefined) } }
  const first = await dialHost(taken.port, token, silent)
  await until('it is asked', () => first.calls.includes('facts'))
  const second = await dialHost(taken.port, token, silent)
  await first.line.closed
  await second.line.closed
  expect(taken.hosts.ids()).toEqual([])
})

it('leaves twenty hosts that dial another process to that one, whatever the first still believes', async () => {
  await using first = await takeHosts(db, 'first', undefined, 60_000)
  await using second = await takeHosts(db, 'second', undefined, 60_000)
  const hosts = await Promise.all(Array.from({ length: 20 }, () => makeToken(db.database)))
  const before = await Promise.all(hosts.map(({ token }) => dialHost(first.port, token)))
  await until('the first holds all', () => hosts.every(({ id }) => first.hosts.holds(id)))
  const after = await Promise.all(hosts.map(({ token }) => dialHost(second.port, token)))
  await until('the second holds all', () => hosts.every(({ id }) => second.hosts.holds(id)))
  await until('the first holds none', () => hosts.every(({ id }) => !first.hosts.holds(id)))
  await Promise.all(before.map(({ line }) => line.closed))
  const { rows } = await db.database.query<{ by: string; hosts: number }>(
    'select connected_to as by, count(*)::integer as hosts from hosts group by 1',
  )
  expect(rows).toEqual([{ by: 'second', hosts: 20 }])
  for (const { line } of after) line.destroy()
})

it('looks no further token up for an address that came with sixty wrong ones, and lets good hosts in', async () => {
  await using taken = await takeHosts(db, 'metered', undefined, 5_000, new GuessMeter(() => 0))
  const [one, other] = ['192.0.2.1', '192.0.2.2'].map(address => ({ headers: { 'X-Forwarded-For': address } }))
  const [{ token }, fresh] = [await makeToken(db.database), await makeToken(db.database)]
  const dialAsBefore = async (upgrade: string) => {
    const headers = {
      Connection: 'Upgrade',
      Upgrade: upgrade,
      Authorization: `Bearer ${randomUUID()}`,
      ...one?.headers,
    }
    const sent = request({ port: taken.port, path: '/hosts/connect', headers }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  const lines = [await dialHost(taken.port, token, one)]
  await until('it is asked', () => lines[0]?.calls.includes('facts') === true)
  for (let guess = 0; guess < 59; guess += 1) {
    await expect(dialHost(taken.port, randomUUID(), one)).rejects.toMatchObject({ status: 401 })
  }
  expect([await dialAsBefore('berth-host/0'), await dialAsBefore('berth-host/0')]).toEqual([426, 429])
  const refused = { status: 429, message: 'too many wrong tokens came from this address; try again in 1 s' }
  await expect(dialHost(taken.port, randomUUID(), one)).rejects.toMatchObject(refused)
  await expect(dialHost(taken.port, fresh.token, one)).rejects.toMatchObject(refused)
  await expect(dialHost(taken.port, randomUUID(), other)).rejects.toMatchObject({ status: 401 })
  lines.push(await dialHost(taken.port, token, one), await dialHost(taken.port, fresh.token, other))
  for (const { calls } of lines.slice(1)) await until('it is asked', () => calls.includes('facts'))
  for (const { line } of lines) line.destroy()
})
