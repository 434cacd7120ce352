import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from '@berth/testing/until.ts'
import type { SenderProcess } from '@berth/testing/webhooks/sender-process.ts'
import { Sending } from '@berth/testing/webhooks/sending.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const claimMs = 4_000

let sending: Sending
beforeAll(async () => {
  sending = await Sending.open()
})
afterEach(async () => {
  await sending.made.database.query('delete from webhook_deliveries')
  await sending.made.database.query('delete from webhook_endpoints')
  sending.receiver.received.length = 0
  sending.receiver.answer = response => response.writeHead(204).end()
})
afterAll(() => sending[Symbol.asyncDispose]())

/** Starts a sender in another process, which dies at a point. */
function startProcess(dieAt: SenderProcess['dieAt']) {
  const sender: SenderProcess = {
    connection: sending.made.connection,
    masterKey: sending.key.toString('hex'),
    ca: sending.authority.ca,
    port: sending.receiver.port,
    now: sending.clock.now().getTime(),
    claimMs,
    dieAt,
  }
  const script = fileURLToPath(new URL('../../../testing/src/webhooks/sender-process.ts', import.meta.url))
  return spawn(process.execPath, [script, JSON.stringify(sender)], { stdio: 'ignore' })
}

describe('kill -9 of a process', () => {
  it.each([
    ['that has claimed a delivery', 'claimed', 0],
    ['that has dialled the receiver', 'dialled', 0],
    ['that has sent and has no answer', 'sent', 1],
    ['that has the answer, which is not written', 'answered', 1],
  ] as const)(
    '%s costs no attempt, and another process sends once its claim lapses',
    async (_, dieAt, arrivedBefore) => {
      const endpoint = await sending.endpoint()
      await sending.append(await sending.session(), 'svc.run.completed')
      const victim = startProcess(dieAt === 'sent' ? 'never' : dieAt)
      const exit = once(victim, 'exit')
      if (dieAt === 'sent') sending.receiver.answer = () => victim.kill('SIGKILL')
      expect(await exit).toEqual([null, 'SIGKILL'])
      expect(sending.receiver.received).toHaveLength(arrivedBefore)
      expect(await sending.deliveries(endpoint)).toMatchObject([{ status: 'pending', tries: 0, attempts: [] }])

      sending.receiver.answer = response => response.writeHead(204).end()
      sending.clock.advance(claimMs + 1)
      await using _sender = await sending.start()
      expect(await sending.attempted(endpoint, 1)).toMatchObject({ status: 'succeeded', tries: 1, lapses: 1 })
      expect(new Set(sending.receiver.ids).size).toBe(1)
      expect(sending.receiver.received).toHaveLength(arrivedBefore + 1)
    },
  )

  it('that has written the outcome repeats nothing', async () => {
    const endpoint = await sending.endpoint()
    await sending.append(await sending.session(), 'svc.run.completed')
    await once(startProcess('written'), 'exit')
    sending.clock.advance(claimMs + 1)
    await using _sender = await sending.start()
    const barrier = await sending.endpoint(['artifact'])
    await sending.append(await sending.session(), 'svc.artifact.created')
    await sending.attempted(barrier, 1)
    expect(await sending.deliveries(endpoint)).toMatchObject([{ status: 'succeeded', tries: 1, lapses: 0 }])
    expect(sending.receiver.received).toHaveLength(2)
  })

  it('costs an attempt once ten have cost none', async () => {
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    await sending.append(key, 'svc.run.started', 'svc.run.completed')
    await sending.made.database.query(
      `update webhook_deliveries set lapses = 8 + sequence, claim = gen_random_uuid(), holder = gen_random_uuid(),
         claimed_until = $1`,
      [new Date(sending.clock.now().getTime() - 1)],
    )
    await using _ = await sending.start()
    const [tenth, eleventh] = await until('both attempts', async () => {
      const rows = await sending.deliveries(endpoint)
      return rows.every(({ attempts }) => attempts.length === 1) && rows
    })
    expect(tenth).toMatchObject({ status: 'succeeded', lapses: 10, tries: 1 })
    expect(eleventh).toMatchObject({ status: 'pending', lapses: 11, tries: 1, attempts: [{ error: 'interrupted' }] })
    sending.clock.advance(60_000)
    sending.wake()
    await until('a success', async () => (await sending.deliveries(endpoint))[1]?.status === 'succeeded')
  })
})

describe('a claim', () => {
  it('is given back by a process that stops, and the next one sends at once', async () => {
    sending.receiver.answer = () => undefined
    const endpoint = await sending.endpoint()
    const stopped = await sending.start()
    await sending.append(await sending.session(), 'svc.run.started')
    await until('the request', () => sending.receiver.received.length === 1)
    await stopped[Symbol.asyncDispose]()
    expect(await sending.deliveries(endpoint)).toMatchObject([{ status: 'pending', tries: 0, attempts: [] }])
    sending.receiver.answer = response => response.writeHead(204).end()
    await using _ = await sending.start()
    expect(await sending.attempted(endpoint, 1)).toMatchObject({ status: 'succeeded', tries: 1, lapses: 0 })
  })

  it('is renewed while the attempt lasts, and an attempt that lost it is stopped and writes nothing', async () => {
    sending.receiver.answer = () => undefined
    const endpoint = await sending.endpoint()
    // bound: the test sets the clock
    await using _ = await sending.start({ claimMs: 400 })
    await sending.append(await sending.session(), 'svc.run.started')
    await until('the request', () => sending.receiver.received.length === 1)
    sending.clock.advance(300)
    const renewed = new Date(sending.clock.now().getTime() + 400)
    const { database } = sending.made
    await until('a renewal', async () => {
      const { rows } = await database.query('select 1 from webhook_deliveries where claimed_until = $1', [renewed])
      return rows.length === 1
    })
    const later = new Date(sending.clock.now().getTime() + 86_400_000)
    await database.query('update webhook_deliveries set claim = gen_random_uuid(), claimed_until = $1', [later])
    sending.receiver.answer = response => response.writeHead(204).end()
    const other = await sending.endpoint(['artifact'])
    await sending.append(await sending.session(), 'svc.artifact.created')
    expect(await sending.attempted(other, 1)).toMatchObject({ status: 'succeeded' })
    const closed = await sending.deliveries(endpoint)
    expect(closed).toMatchObject([{ status: 'pending', tries: 0, attempts: [] }])
  })
})
