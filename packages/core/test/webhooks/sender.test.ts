import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { publicAddress, Sending } from '@berth/testing/webhooks/sending.ts'
import { isGenuine } from '@berth/testing/webhooks/verify-signature.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findDueEndpoints } from '../../src/webhooks/delivery-sql.ts'

let sending: Sending
beforeAll(async () => {
  sending = await Sending.open()
})
afterEach(async () => {
  await sending.made.database.query('delete from webhook_deliveries')
  await sending.made.database.query('delete from webhook_endpoints')
  sending.receiver.received.length = 0
  sending.network.names.set('hooks.example.com', [publicAddress])
  sending.receiver.answer = response => response.writeHead(204).end()
})
afterAll(() => sending[Symbol.asyncDispose]())

const arrived = (count: number) => until(`${count} requests`, () => sending.receiver.received.length >= count)

describe('a delivery', () => {
  it('is the Event as the log holds it, signed, with four headers and no other', async () => {
    const { secret, id } = await sending.endpoint(['run'], 'https://hooks.example.com/berth?a=%20b')
    const key = await sending.session()
    await using _ = await sending.start()
    await sending.append(key, { type: 'svc.run.started', data: { status: 'running', text: 'ü\u2028 "quoted"' } })
    await arrived(1)
    const [received] = sending.receiver.received
    if (received === undefined) throw new Error('nothing arrived')
    expect(received).toMatchObject({
      method: 'POST',
      path: '/berth?a=%20b',
      httpVersion: '1.1',
      servername: 'hooks.example.com',
    })
    expect([received.body.toString()]).toEqual(await sending.envelopes(key))
    const names = received.rawHeaders.filter((_, index) => index % 2 === 0)
    expect(names.toSorted()).toEqual(['Content-Length', 'Content-Type', 'Host', 'Svc-Signature'])
    const values = Object.fromEntries(names.map((name, index) => [name, received.rawHeaders[index * 2 + 1]]))
    expect(values).toMatchObject({
      Host: 'hooks.example.com',
      'Content-Type': 'application/json',
      'Content-Length': String(received.body.length),
    })
    const now = Math.floor(sending.clock.now().getTime() / 1000)
    expect(isGenuine(received.body, received.signature, secret, now)).toBe(true)
    expect(isGenuine(Buffer.concat([received.body, Buffer.from(' ')]), received.signature, secret, now)).toBe(false)
    expect(isGenuine(received.body, received.signature, `${secret}x`, now)).toBe(false)
    expect(await sending.attempted({ id, secret }, 1)).toMatchObject({
      status: 'succeeded',
      tries: 1,
      attempts: [{ at: sending.clock.now().toISOString(), status: 204 }],
    })
  })

  it('is tried six times on schedule, each time with a fresh signature, also across restarts', async () => {
    sending.receiver.answer = response => response.writeHead(500).end('no')
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    let sender = await sending.start()
    await sending.append(key, 'svc.run.completed')
    const signedAt: number[] = []
    for (const [index, pause] of [60, 120, 240, 480, 960, null].entries()) {
      const { status, tries } = await sending.attempted(endpoint, index + 1)
      const now = Math.floor(sending.clock.now().getTime() / 1000)
      const last = sending.receiver.received.at(-1)
      expect(isGenuine(last?.body ?? Buffer.of(), last?.signature ?? '', endpoint.secret, now)).toBe(true)
      signedAt.push(Number(/^t=(\d+)/.exec(last?.signature ?? '')?.[1]))
      expect([status, tries]).toEqual([pause === null ? 'failed' : 'pending', index + 1])
      if (pause === null) break
      await sender[Symbol.asyncDispose]()
      sending.clock.advance(pause * 1000 - 1)
      expect(await findDueEndpoints(sending.made.database, sending.clock.now())).toEqual([])
      sending.clock.advance(1)
      sender = await sending.start()
    }
    await sender[Symbol.asyncDispose]()
    const [first = 0] = signedAt
    expect(signedAt.map(at => at - first)).toEqual([0, 60, 180, 420, 900, 1860])
    sending.clock.advance(86_400_000)
    expect(await findDueEndpoints(sending.made.database, sending.clock.now())).toEqual([])
    const { rows } = await sending.made.database.query(
      'select failures, last_failure_status, last_failure_error, last_success_at from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows).toEqual([{ failures: 6, last_failure_status: 500, last_failure_error: null, last_success_at: null }])
  })

  it('is sent on a kept connection only to an address that was judged just now', async () => {
    await using _ = await sending.start()
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    const send = async (count: number) => {
      await sending.append(key, 'svc.run.started')
      await until(
        'the delivery',
        async () =>
          (await sending.deliveries(endpoint)).filter(({ status }) => status === 'succeeded').length === count,
      )
    }
    const connections = () => sending.receiver.received.map(({ connection }) => connection)
    const before = sending.network.dialled.length
    await send(1)
    await send(2)
    expect(new Set(connections()).size).toBe(1)
    expect(sending.network.dialled.slice(before)).toEqual(['93.184.216.34:443'])
    sending.network.ports.set('93.184.216.99:443', sending.receiver.port)
    sending.network.names.set('hooks.example.com', ['93.184.216.99'])
    await send(3)
    expect(sending.network.dialled.slice(before)).toEqual(['93.184.216.34:443', '93.184.216.99:443'])
    expect(new Set(connections()).size).toBe(2)
  })

  it('goes to the next address if one cannot be reached', async () => {
    sending.network.names.set('hooks.example.com', ['93.184.216.77', '93.184.216.34'])
    await using _ = await sending.start()
    const endpoint = await sending.endpoint()
    await sending.append(await sending.session(), 'svc.run.started')
    expect(await sending.attempted(endpoint, 1)).toMatchObject({ status: 'succeeded' })
  })

  it('goes without TLS to an origin that the configuration lets through', async () => {
    await using plain = await Receiver.open(null)
    const origin = `http://127.0.0.1:${plain.port}`
    sending.network.ports.set(`127.0.0.1:${plain.port}`, plain.port)
    await using _ = await sending.start({ allow: [origin] })
    const endpoint = await sending.endpoint(['run'], `${origin}/hook`)
    await sending.append(await sending.session(), 'svc.run.started')
    expect(await sending.attempted(endpoint, 1)).toMatchObject({ status: 'succeeded' })
    expect(plain.received.map(({ path }) => path)).toEqual(['/hook'])
  })
})

describe('first attempts', () => {
  it('of a Session at an endpoint begin in the order of its Events', async () => {
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    for (let n = 0; n < 10; n += 1)
      await sending.append(key, 'svc.run.started', 'svc.run.progress', 'svc.run.completed')
    // One at a time shows the order in which the attempts begin.
    await using _ = await sending.start({ perEndpoint: 1 })
    await arrived(20)
    const sequences = sending.receiver.received.map(({ body }) => JSON.parse(body.toString()).sequence)
    expect(sequences).toEqual((await sending.deliveries(endpoint)).map(({ sequence }) => sequence))
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  })
})
