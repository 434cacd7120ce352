import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '@berth/testing/services/certificates.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Network, openNetwork } from './dial.ts'
import { isPublicAddress } from './public-address.ts'
import { type FetchOptions, getPublic } from './public-get.ts'

const certificate = makeCertificate('engines.example.com')
const publicAddress = '93.184.216.34'

let server: Server
let answer: RequestListener
const requests: IncomingMessage[] = []
/** Addresses that were dialled, and names that were resolved. */
const dialled: string[] = []
const resolved: string[] = []
let answers: readonly string[][] = [[publicAddress]]

/** A network in which every address leads to the server on loopback. */
const network: Network = {
  ...openNetwork(),
  lookUp: () => Promise.reject(new Error('the system must not be asked')),
  async resolve(name) {
    resolved.push(name)
    return answers[Math.min(resolved.length, answers.length) - 1] ?? []
  },
  dial(address, _, signal) {
    dialled.push(address)
    return openNetwork().dial('127.0.0.1', (server.address() as AddressInfo).port, signal)
  },
}

beforeAll(async () => {
  server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    requests.push(request)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  for (const list of [requests, dialled, resolved]) list.length = 0
  answers = [[publicAddress]]
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

async function get(url = 'https://engines.example.com/engine.cjs', options: Partial<FetchOptions> = {}) {
  const shared = { network, mayDial: isPublicAddress, ca: certificate.ca, maxBytes: 1000 }
  const chunks: Buffer[] = []
  const signal = new AbortController().signal
  for await (const chunk of getPublic(url, { ...shared, signal, ...options })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Returns the words of a refusal. */
const refused = (...args: Parameters<typeof get>) =>
  get(...args).then(
    () => 'fetched',
    (error: Error) => `${error.name}: ${error.message}`,
  )

const sends =
  (body: string | Buffer, status = 200, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(body)

describe('a public URL', () => {
  it('is fetched by one GET that carries no credential', async () => {
    answer = sends('engine')
    expect((await get('https://engines.example.com/a/engine.cjs?v=1')).toString()).toBe('engine')
    expect(requests).toHaveLength(1)
    const [{ method, url, headers } = {} as IncomingMessage] = requests
    expect([method, url, headers.host, headers.authorization, headers.cookie]).toEqual([
      'GET',
      '/a/engine.cjs?v=1',
      'engines.example.com',
      undefined,
      undefined,
    ])
    expect([resolved, dialled]).toEqual([['engines.example.com'], [publicAddress]])
  })

  it('is dialled at the address that was judged, whatever its name answers next', async () => {
    answer = sends('engine')
    answers = [[publicAddress], ['127.0.0.1']]
    expect((await get()).toString()).toBe('engine')
    expect([resolved.length, dialled]).toEqual([1, [publicAddress]])
  })

  it('may have exactly as many bytes as asked for, and not one more, with or without a length', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      answer = sends('a'.repeat(1000), 200, headers)
      expect(await get()).toHaveLength(1000)
      answer = sends('a'.repeat(1001), 200, headers)
      expect(await refused()).toBe('FetchRefused: the answer has more than 1000 bytes')
    }
  })

  it.each([301, 302, 303, 307, 308])('that answers %i is not followed', async status => {
    answer = sends('', status, { location: 'https://127.0.0.1/' })
    expect(await refused()).toMatch(`FetchRefused: the server answered ${status}`)
    expect([requests.length, dialled.length, resolved.length]).toEqual([1, 1, 1])
  })

  it.each([204, 206, 401, 404, 500])('that answers %i is refused', async status => {
    answer = sends('', status)
    expect(await refused()).toMatch(`FetchRefused: the server answered ${status}`)
  })

  it('needs a certificate of a known authority, for the name in the URL', async () => {
    answer = sends('engine')
    const unreachable = 'FetchRefused: the server could not be reached, or broke off'
    expect(await refused('https://other.example.com/')).toBe(unreachable)
    expect(await refused(undefined, { ca: makeCertificate('engines.example.com').ca })).toBe(unreachable)
    expect(requests).toEqual([])
  })

  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['stalls within its body', (_, response) => void response.writeHead(200).write('a')],
  ])('whose server %s is given up with the signal', async (_, listener) => {
    const leaving = new AbortController()
    answer = (request, response) => {
      listener(request, response)
      leaving.abort()
    }
    expect(await refused(undefined, { signal: leaving.signal })).toBe(
      'FetchRefused: the server did not send it in time',
    )
  })

  it('whose server breaks off is refused', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('a')
      response.destroy()
    }
    expect(await refused()).toBe('FetchRefused: the server could not be reached, or broke off')
  })
})

describe('a URL that is not public', () => {
  const hosts = [
    ...['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '127%2e1', '１２７.0.0.1', '0.0.0.0'],
    ...['[::1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::a00:1]', '[2002:7f00:1::]'],
    ...[
      '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
      '[fe80::1]',
      '[ff02::1]',
      '[fd00:ec2::254]',
      '10.0.0.1',
      '100.64.0.1',
    ],
    ...['169.254.169.254', '169.254.170.2', '168.63.129.16', '100.100.100.200', '224.0.0.1', '192.168.0.1'],
    ...['localhost', 'localhost.', 'LOCALHOST', 'a.localhost', 'metadata.internal', 'printer.local', 'intranet'],
  ]

  it.each(hosts)('https://%s/ is refused before anything is resolved or dialled', async host => {
    expect(await refused(`https://${host}/`)).toMatch(/^FetchRefused: (its host is not public|is not a URL)/)
    expect([dialled, resolved]).toEqual([[], []])
  })

  it.each([
    [['127.0.0.1']],
    [[publicAddress, '10.0.0.1']],
    [['10.0.0.1', publicAddress]],
    [['::ffff:127.0.0.1']],
    [[]],
  ])('because its name answers %j is refused before anything is dialled', async addresses => {
    answers = [addresses]
    expect(await refused()).toBe('FetchRefused: its host is not public')
    expect([resolved, dialled]).toEqual([['engines.example.com'], []])
  })

  it.each([
    ['http://engines.example.com/', 'is not an https URL'],
    ['ftp://engines.example.com/', 'is not an https URL'],
    ['engines.example.com', 'is not a URL'],
    ['https://a:b@engines.example.com/', 'must not contain credentials'],
    ['https://@engines.example.com/', 'must not contain credentials'],
    ['https://engines.example.com/#a', 'must not contain a fragment'],
    ['https://engines.example.com:8443/', 'must use port 443'],
    ['https://engines.exam\tple.com/', 'is not a URL'],
    ['https:\\\\engines.example.com\\', 'is not a URL'],
  ])('%s is refused: %s', async (url, message) => {
    expect(await refused(url)).toBe(`FetchRefused: ${message}`)
    expect([dialled, resolved]).toEqual([[], []])
  })
})
