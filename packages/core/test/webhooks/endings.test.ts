import { randomUUID } from 'node:crypto'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { until } from '@berth/testing/until.ts'
import { Sending } from '@berth/testing/webhooks/sending.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { claimDeliveries, findDueEndpoints } from '../../src/webhooks/delivery-sql.ts'

let sending: Sending
beforeEach(async () => {
  sending = await Sending.open()
})
afterEach(() => sending[Symbol.asyncDispose]())

/** A delivery after a first attempt that failed, and the sender at work. */
async function failedOnce() {
  sending.receiver.answer = response => response.writeHead(500).end()
  const endpoint = await sending.endpoint()
  const sender = await sending.start()
  const key = await sending.session()
  await sending.append(key, 'svc.run.started')
  await sending.attempted(endpoint, 1)
  return { endpoint, key, [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose]() }
}

const change = (sql: string) => sending.made.database.query(sql, [sending.tenant.installationId])

const withoutRead = `update installations set capabilities = array_remove(capabilities, 'svc.cloud.sessions:read') where id = $1`

describe('between two attempts', () => {
  it.each([
    ['a right that is lost', withoutRead],
    ['an installation that is revoked', 'update installations set revoked_at = now() where id = $1'],
    [
      'an organization that is suspended',
      'update organizations o set suspended_at = now() from installations i where i.id = $1 and o.id = i.organization_id',
    ],
  ])('%s fails the delivery for good', async (_, sql) => {
    await using failed = await failedOnce()
    await change(sql)
    sending.clock.advance(60_000)
    sending.wake()
    const ended = await sending.attempted(failed.endpoint, 2)
    expect(ended).toMatchObject({
      status: 'failed',
      tries: 1,
      attempts: [{ status: 500 }, { error: 'authority', at: expect.any(String) }],
    })
    expect(sending.receiver.received).toHaveLength(1)
    await change(`update installations set revoked_at = null, capabilities =
      array['svc.cloud.access', 'svc.cloud.sessions:read'] where id = $1`)
    sending.clock.advance(86_400_000)
    expect(await findDueEndpoints(sending.made.database, sending.clock.now())).toEqual([])
  })

  it('an endpoint that is deleted ends its deliveries', async () => {
    await using failed = await failedOnce()
    await sending.made.database.query('delete from webhook_endpoints where id = $1', [failed.endpoint.id])
    sending.clock.advance(60_000)
    expect(await findDueEndpoints(sending.made.database, sending.clock.now())).toEqual([])
    sending.receiver.answer = response => response.writeHead(204).end()
    const other = await sending.endpoint(['artifact'])
    await sending.append(failed.key, 'svc.artifact.created')
    await sending.attempted(other, 1)
    expect(sending.receiver.received).toHaveLength(2)
  })
})

describe('a receiver that never answers', () => {
  it('holds up no other one, and has at most its slots at once, of all processes', async () => {
    const dead = await sending.receiverAt('dead.example.com', '93.184.216.35', undefined, () => undefined)
    await sending.endpoint(['run'], 'https://dead.example.com/')
    const live = await sending.endpoint(['run'])
    const key = await sending.session()
    // An attempt that is given up makes room for another.
    const patient = { timeoutMs: 600_000 }
    await using _first = await sending.start(patient)
    const runs = Array.from({ length: 100 }, () => 'svc.run.started')
    for (let n = 0; n < 10; n += 1) await sending.append(key, ...runs)
    await until('every request', () => sending.receiver.received.length === 1_000)
    await using _second = await sending.start(patient)
    await sending.append(key, 'svc.run.completed')
    await until('one more', async () => (await sending.deliveries(live)).every(({ status }) => status === 'succeeded'))
    expect(new Set(sending.receiver.ids).size).toBe(1_001)
    expect(dead.received).toHaveLength(16)
  })

  it('has no more than its slots if several processes claim at the same moment', async () => {
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    await sending.append(key, ...Array.from({ length: 80 }, () => 'svc.run.started'))
    const { database } = sending.made
    const now = sending.clock.now()
    const claimBy = (db: Database) => {
      const by = { now, until: new Date(now.getTime() + 4_000), holder: randomUUID() }
      return claimDeliveries(db, by, { id: endpoint.id, slots: 16 }, 256)
    }
    const claimed = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const first = claimBy({
      query: (statement, values) => database.query(statement, values),
      transaction: work =>
        database.transaction(async tx => {
          const value = await work(tx)
          claimed.resolve()
          await commit.promise
          return value
        }),
    })
    await claimed.promise
    let ended = false
    const second = claimBy(database).finally(() => {
      ended = true
    })
    await until('the second claim', async () => {
      const waiting = await database.query(
        "select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())",
      )
      return ended || waiting.rowCount > 0
    })
    commit.resolve()
    expect((await Promise.all([first, second])).flat()).toHaveLength(16)
  })

  it('gets one attempt at a time after fifty failures, until one succeeds', async () => {
    const answers: (() => void)[] = []
    sending.receiver.answer = response => answers.push(() => response.writeHead(204).end())
    const other = await sending.receiverAt('other.example.com', '93.184.216.35')
    const slow = await sending.endpoint(['run'])
    await sending.endpoint(['run'], 'https://other.example.com/')
    await sending.made.database.query('update webhook_endpoints set failures = 50 where id = $1', [slow.id])
    await using _ = await sending.start()
    const key = await sending.session()
    await sending.append(key, 'svc.run.started', 'svc.run.started', 'svc.run.started', 'svc.run.started')
    await sending.append(key, 'svc.run.completed')
    await until('the others', () => other.received.length === 5)
    await until('the first', () => answers.length === 1)
    answers.shift()?.()
    await until('the rest at once', () => answers.length === 4)
    for (const answer of answers) answer()
  })
})

describe('endpoints', () => {
  it('are served in turn', async () => {
    for (const path of ['a', 'b', 'c']) await sending.endpoint(['run'], `https://hooks.example.com/${path}`)
    const key = await sending.session()
    await sending.append(key, 'svc.run.started', 'svc.run.started', 'svc.run.started')
    await using _ = await sending.start({ perProcess: 1 })
    await until('every request', () => sending.receiver.received.length === 9)
    const paths = sending.receiver.received.map(({ path }) => path)
    for (const at of [0, 3, 6]) expect(paths.slice(at, at + 3).toSorted()).toEqual(['/a', '/b', '/c'])
  })
})
