import { forbiddenUrls } from '@berth/testing/webhooks/forbidden-urls.ts'
import type { Answer } from '@berth/testing/webhooks/receiver.ts'
import { publicAddress, Sending } from '@berth/testing/webhooks/sending.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

let sending: Sending
beforeAll(async () => {
  sending = await Sending.open()
})
afterEach(async () => {
  await sending.made.database.query('delete from webhook_deliveries')
  await sending.made.database.query('delete from webhook_endpoints')
  sending.network.names.set('hooks.example.com', [publicAddress])
  sending.network.dialled.length = 0
  sending.receiver.received.length = 0
})
afterAll(() => sending[Symbol.asyncDispose]())

const patient = 10_000
/** For receivers that stall: the attempt must end by it. */
const impatient = 300

/** Sends one Event and returns the end of its first attempt. */
async function outcomeAt(url = 'https://hooks.example.com/', timeoutMs = patient) {
  await using _ = await sending.start({ timeoutMs })
  const endpoint = await sending.endpoint(['run'], url)
  await sending.append(await sending.session(), 'svc.run.started')
  const { attempts, status: ended } = await sending.attempted(endpoint, 1)
  const [{ status, error } = {}] = attempts
  return { ended, status, error }
}

const every = (response: Parameters<Answer>[0], write: () => void) => {
  const timer = setInterval(write, 20)
  response.socket?.on('close', () => clearInterval(timer)).on('error', () => undefined)
}

describe('an answer', () => {
  it.each([200, 201, 204, 299])('with status %i is a success', async status => {
    sending.receiver.answer = response => response.writeHead(status).end()
    expect(await outcomeAt()).toEqual({ ended: 'succeeded', status, error: undefined })
  })

  it.each([300, 301, 400, 401, 404, 410, 429, 500, 503])('with status %i is tried again', async status => {
    sending.receiver.answer = response => response.writeHead(status, { 'retry-after': '1' }).end()
    expect(await outcomeAt()).toEqual({ ended: 'pending', status, error: undefined })
  })

  it.each([301, 302, 303, 307, 308])('that redirects to loopback with %i is not followed', async status => {
    const location = `https://127.0.0.1:${sending.receiver.port}/`
    sending.receiver.answer = response => response.writeHead(status, { location }).end()
    expect(await outcomeAt()).toEqual({ ended: 'pending', status, error: undefined })
    expect([sending.receiver.received.length, sending.network.dialled]).toEqual([1, [`${publicAddress}:443`]])
  })

  const raw =
    (text: string): Answer =>
    response =>
      response.socket?.end(text)
  const faults: Readonly<Record<string, readonly [error: string, answer: Answer, timeoutMs?: number]>> = {
    'never begins': ['timed_out', () => undefined, impatient],
    'stalls within its headers': [
      'timed_out',
      response => response.socket?.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'),
      impatient,
    ],
    'drips headers without end': [
      'timed_out',
      response => {
        response.socket?.write('HTTP/1.1 200 OK\r\n')
        every(response, () => response.socket?.write('a: b\r\n'))
      },
      impatient,
    ],
    'is an endless row of interim responses': [
      'timed_out',
      response => every(response, () => response.socket?.write('HTTP/1.1 100 Continue\r\n\r\n')),
      impatient,
    ],
    'is no HTTP': ['invalid_response', raw('nonsense\r\n\r\n')],
    'has too many headers': ['invalid_response', raw(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}\r\n`)],
    'is a closed connection': ['connection_lost', response => response.socket?.destroy()],
    'breaks off within its headers': ['connection_lost', raw('HTTP/1.1 200 OK\r\nContent-')],
  }
  it.each(Object.entries(faults))('that %s is none', async (_, [error, answer, timeoutMs]) => {
    sending.receiver.answer = answer
    expect(await outcomeAt(undefined, timeoutMs)).toEqual({ ended: 'pending', status: undefined, error })
  })

  it.each<[string, Answer]>([
    ['stalls within its body', response => response.writeHead(200, { 'content-length': 10 }).write('a')],
    [
      'drips its body without end',
      response => {
        response.writeHead(200)
        every(response, () => response.write('a'))
      },
    ],
    [
      'has an endless body',
      response => {
        response.writeHead(200)
        const more = () => {
          if (response.destroyed) return
          response.write(Buffer.alloc(65_536), () => setImmediate(more))
        }
        more()
      },
    ],
    [
      'breaks off within its body',
      response => {
        response.writeHead(200, { 'content-length': 10 }).write('a', () => response.socket?.destroy())
      },
    ],
  ])('that %s counts by its status, and its connection is not kept', async (_, answer) => {
    sending.receiver.answer = answer
    await using _sender = await sending.start({ perEndpoint: 1 })
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    await sending.append(key, 'svc.run.started')
    expect(await sending.attempted(endpoint, 1)).toMatchObject({ status: 'succeeded', attempts: [{ status: 200 }] })
    sending.receiver.answer = response => response.writeHead(204).end()
    await sending.append(key, 'svc.run.completed')
    const next = await sending.endpoint(['artifact'])
    await sending.append(key, 'svc.artifact.created')
    await sending.attempted(next, 1)
    const [first, ...others] = sending.receiver.received.map(({ connection }) => connection)
    expect(others.length).toBeGreaterThan(0)
    expect(others).not.toContain(first)
  })
})

describe('the name and the certificate', () => {
  it('must be in DNS', async () => {
    sending.network.names.delete('hooks.example.com')
    expect(await outcomeAt()).toMatchObject({ ended: 'pending', error: 'dns_failed' })
  })

  it('must be resolved in time', async () => {
    sending.network.names.set('hooks.example.com', () => new Promise<never>(() => undefined))
    expect(await outcomeAt(undefined, impatient)).toMatchObject({ ended: 'pending', error: 'timed_out' })
  })

  it('must name the host', async () => {
    await sending.receiverAt('other.example.com', '93.184.216.35', 'hooks.example.com')
    expect(await outcomeAt('https://other.example.com/')).toMatchObject({ ended: 'pending', error: 'tls_failed' })
  })

  it('must be of an authority that is trusted', async () => {
    await using stranger = await Sending.open()
    sending.network.ports.set('93.184.216.36:443', stranger.receiver.port)
    sending.network.names.set('hooks.example.com', ['93.184.216.36'])
    expect(await outcomeAt()).toMatchObject({ ended: 'pending', error: 'tls_failed' })
    expect(stranger.receiver.received).toEqual([])
  })

  it('must lead to somebody', async () => {
    sending.network.names.set('hooks.example.com', ['93.184.216.37'])
    expect(await outcomeAt()).toMatchObject({ ended: 'pending', error: 'connection_failed' })
  })
})

describe('an address that is not public', () => {
  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', 'fd00:ec2::254'])(
    'is not dialled: %s',
    async address => {
      for (const addresses of [[address], [publicAddress, address]]) {
        sending.network.names.set('hooks.example.com', addresses)
        expect(await outcomeAt()).toMatchObject({ ended: 'pending', error: 'address_refused' })
      }
      expect(sending.network.dialled).toEqual([])
    },
  )

  it('is noticed if the name changes between two attempts, and a kept connection is not used', async () => {
    await using _ = await sending.start()
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    sending.receiver.answer = response => response.writeHead(500).end()
    await sending.append(key, 'svc.run.started')
    await sending.attempted(endpoint, 1)
    sending.network.names.set('hooks.example.com', ['127.0.0.1'])
    sending.clock.advance(60_000)
    sending.wake()
    const { attempts } = await sending.attempted(endpoint, 2)
    expect(attempts).toMatchObject([{ status: 500 }, { error: 'address_refused' }])
    expect(sending.network.dialled).toEqual([`${publicAddress}:443`])
  })

  it('is refused in every spelling of a URL, should one ever be registered', async () => {
    await using _ = await sending.start()
    const key = await sending.session()
    const let_through: string[] = []
    for (const url of forbiddenUrls) {
      const endpoint = await sending.endpoint(['run'], url)
      await sending.append(key, 'svc.run.started')
      const { attempts } = await sending.attempted(endpoint, 1)
      if (attempts[0]?.error !== 'url_refused') let_through.push(url)
      await sending.made.database.query('delete from webhook_endpoints where id = $1', [endpoint.id])
    }
    expect(let_through).toEqual([])
    expect(sending.network.dialled).toEqual([])
  })
})
