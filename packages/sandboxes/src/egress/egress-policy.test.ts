import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openNetwork } from '@berth/platform/network/dial.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEgressPolicy, createPublicPolicy } from './egress-policy.ts'
import { type EgressProxy, serveEgressProxy } from './proxy.ts'

/** The answers of this test's DNS. */
const names: Readonly<Record<string, readonly string[]>> = {
  'example.com': ['93.184.216.34', '2606:2800:220:1::1'],
  'xn--mnchen-3ya.de': ['93.184.216.35'],
  'refused.example.com': ['198.18.0.1'],
  '127.0.0.1.nip.example': ['127.0.0.1'],
  'mixed.example.com': ['93.184.216.34', '10.0.0.1'],
  'mixed6.example.com': ['93.184.216.34', 'fd00:ec2::254'],
  'metadata.example.com': ['169.254.169.254'],
  'mapped.example.com': ['::ffff:93.184.216.34'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'own.example.com': ['93.184.216.99'],
  'closed.example.com': ['93.184.217.1'],
  'empty.example.com': [],
}

let dir: string
let proxy: EgressProxy
let server: Server
let resolved: string[]
let dialled: string[]
let logged: Record<string, unknown>[]

const open = { ports: [80, 443], refused: ['93.184.217.0/24'] }
const network = {
  lookUp: async (name: string) => Promise.reject(new Error(`looked up ${name}`)),
  resolve: async (name: string) => {
    resolved.push(name)
    return names[name] ?? Promise.reject(new Error('no such name'))
  },
  /** Records each dialled address; one server on loopback answers for all. */
  dial: async (address: string, port: number, signal: AbortSignal) => {
    dialled.push(`${address} ${port}`)
    return openNetwork().dial('127.0.0.1', (server.address() as AddressInfo).port, signal)
  },
}

beforeAll(async () => {
  server = createServer((incoming, response) => response.end(`${incoming.headers.host}${incoming.url}`))
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => server.close().closeAllConnections())
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-egress-'))
  resolved = []
  dialled = []
  logged = []
  const policy = createPublicPolicy(open, () => new Set(['93.184.216.99']))
  const log = { warn: (fields: object) => logged.push(fields as Record<string, unknown>) }
  proxy = await serveEgressProxy({ dir, name: 's', policy, log, network })
})
afterEach(async () => {
  await proxy[Symbol.asyncDispose]()
  await rm(dir, { recursive: true })
})

/** Sends a raw request line, which no client library would allow, and returns the answer. */
async function sendLine(line: string): Promise<string> {
  const socket = connect(join(dir, 's'))
  socket.write(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 'utf8')
  if (line.startsWith('CONNECT')) socket.end()
  return text(socket)
}
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])

describe('public hosts', () => {
  it('are reached by name or address, at the first of the addresses resolved once', async () => {
    expect(await sendLine('GET http://example.com/path?query')).toMatch(/^HTTP\/1\.1 200 .*example\.com\/path\?query/s)
    expect(await sendLine('GET http://Example.COM./')).toMatch(/^HTTP\/1\.1 200 /)
    expect(await sendLine('GET http://münchen.de/')).toMatch(/^HTTP\/1\.1 (200|400) /)
    expect(statusOf(await sendLine('GET http://xn--mnchen-3ya.de/'))).toBe(200)
    expect(statusOf(await sendLine('CONNECT example.com:443'))).toBe(200)
    expect(statusOf(await sendLine('CONNECT 93.184.216.34:443'))).toBe(200)
    expect(statusOf(await sendLine('CONNECT [2606:4700::1]:443'))).toBe(200)
    expect(resolved.slice(0, 2)).toEqual(['example.com', 'example.com'])
    expect(dialled.slice(-3)).toEqual(['93.184.216.34 443', '93.184.216.34 443', '2606:4700::1 443'])
  })

  it('answer 502, not 403, if the name has no address', async () => {
    expect(statusOf(await sendLine('GET http://empty.example.com/'))).toBe(502)
    expect(statusOf(await sendLine('GET http://unknown.example.com/'))).toBe(502)
    expect(dialled).toEqual([])
  })
})

/** Spellings of hosts that are not public; none of them may be resolved. */
const hosts = [
  ...[
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '017700000001',
    '127.0.0.1.',
  ],
  ...['1２7.0.0.1', '１２７.０.０.１', '%31%32%37.0.0.1', '%6c%6f%63%61%6c%68%6f%73%74', '①②⑦.0.0.1', '127。0。0。1'],
  ...[
    'localhost',
    'localhost.',
    'LOCALHOST',
    'a.localhost',
    'ⓛocalhost',
    'localhost.localdomain',
    'printer.local',
    'nas.lan',
  ],
  ...[
    'metadata',
    'metadata.google.internal',
    'metadata.google.internal.',
    'instance-data.ec2.internal',
    'db',
    'kubernetes',
  ],
  ...['router.home.arpa', 'x.test', 'x.invalid', 'x.onion', '_dns', 'a..com', '-', 'example.com..', 'x.alt'],
  ...[
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '224.0.0.1',
    '240.0.0.1',
  ],
  ...['169.254.169.254', '169.254.170.2', '168.63.129.16', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376'],
  ...['255.255.255.255', '192.0.2.1', '198.18.0.1', '93.184.217.7', '93.184.216.99'],
  ...[
    '[::1]',
    '[::]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:8.8.8.8]',
    '[0:0:0:0:0:0:0:1]',
  ],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[fe80::1]',
  ],
  ...[
    '[fe80::1%25eth0]',
    '[fe80::1%eth0]',
    '[fd00:ec2::254]',
    '[fc00::1]',
    '[ff02::1]',
    '[100:0:0:1::1]',
    '[::7f00:1]',
  ],
]

describe('a host that is not public', () => {
  it.each(hosts)('%s is refused before anything is resolved or dialled', async host => {
    for (const line of [`GET http://${host}/`, `CONNECT ${host}:443`, `GET http://${host}:443/`]) {
      expect([400, 403], `${line}: ${await sendLine(line)}`).toContain(statusOf(await sendLine(line)))
    }
    expect([resolved, dialled]).toEqual([[], []])
  })

  it('is refused in every malformed or decorated request line', async () => {
    const lines = ['GET http://example.com@127.0.0.1/', 'GET http://127.0.0.1\\@example.com/', 'GET http:/127.0.0.1/']
    const more = [
      'GET http://127.0.0.1\t/',
      'GET http://\t127.0.0.1/',
      'GET http://user:secret@example.com/',
      'CONNECT a@127.0.0.1:443',
    ]
    const tunnels = [
      'CONNECT 127.0.0.1',
      'CONNECT :443',
      'CONNECT 127.0.0.1:443/x',
      'CONNECT [::1]',
      'CONNECT http://127.0.0.1:443',
    ]
    for (const line of [...lines, ...more, ...tunnels])
      expect([400, 403], line).toContain(statusOf(await sendLine(line)))
    expect([resolved, dialled]).toEqual([[], []])
  })

  it.each(Object.keys(names).filter(name => /^(127|mixed|metadata|mapped|nat64|own|closed|refused)/.test(name)))(
    '%s is refused by its addresses, and none of them is dialled',
    async name => {
      for (const line of [`GET http://${name}/`, `CONNECT ${name}:443`]) {
        const answer = await sendLine(line)
        expect(answer).toMatch(/^HTTP\/1\.1 403 .*not public/s)
      }
      expect(resolved).toEqual([name, name])
      expect(dialled).toEqual([])
    },
  )

  it('cannot be reached through a name whose answer changes: the proxy dials the addresses that it checked', async () => {
    let answers = 0
    const turning = { ...network, resolve: async () => (answers++ === 0 ? ['93.184.216.34'] : ['127.0.0.1']) }
    await proxy[Symbol.asyncDispose]()
    proxy = await serveEgressProxy({
      dir,
      name: 's',
      policy: createPublicPolicy(open),
      log: { warn() {} },
      network: turning,
    })
    expect(statusOf(await sendLine('GET http://example.com/'))).toBe(200)
    expect([answers, dialled]).toEqual([1, ['93.184.216.34 80']])
    expect(statusOf(await sendLine('GET http://example.com/'))).toBe(403)
    expect(dialled).toHaveLength(1)
  })
})

describe('a policy', () => {
  const judge = (line: string, policy = createPublicPolicy(open)) => {
    const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(line) ?? []
    const verdict = policy({ scheme: 'tunnel', host, port: Number(port) })
    return verdict.kind === 'deny' ? verdict.reason : verdict.how
  }

  it('opens the ports that it names', () => {
    expect(judge('example.com:443')).toBe('public')
    for (const port of [22, 25, 3306, 5432, 6379, 8080]) expect(judge(`example.com:${port}`)).toMatch(/^port /)
    expect(judge('example.com:22', createPublicPolicy({ ...open, ports: [22] }))).toBe('public')
  })

  it('allows only the hosts that it lists', () => {
    const listed = createPublicPolicy({ ...open, only: ['example.com', '*.packages.example'] })
    for (const host of ['example.com', 'example.com.', 'registry.packages.example', 'a.b.packages.example']) {
      expect(judge(`${host}:443`, listed), host).toBe('public')
    }
    for (const host of [
      'www.example.com',
      'packages.example',
      'evilpackages.example',
      'packages.example.evil.com',
      '93.184.216.34',
    ]) {
      expect(judge(`${host}:443`, listed), host).toMatch(/not among the hosts/)
    }
  })

  it("allows only the operator's origins if public hosts are closed", () => {
    const policy = createEgressPolicy({ reach: ['http://127.0.0.1:9000'] })
    expect(judge('127.0.0.1:9000', policy)).toBe('named')
    expect(judge('example.com:443', policy)).toMatch(/may not reach/)
    const both = createEgressPolicy({ reach: ['http://127.0.0.1:9000'], publicHosts: open })
    expect([judge('127.0.0.1:9000', both), judge('example.com:443', both)]).toEqual(['named', 'public'])
    expect(judge('127.0.0.1:443', both)).toMatch(/not a public address/)
  })
})

describe('the log of refusals', () => {
  it('names the target and the reason, without path or query, up to a limit', async () => {
    await sendLine('GET http://localhost/secret?secret')
    expect(logged).toEqual([{ host: 'localhost', port: 80, reason: 'localhost is not the name of a public host' }])
    for (let count = 0; count < 40; count++) await sendLine('CONNECT localhost:443')
    expect(logged).toHaveLength(20)
  })

  it('masks a host and a reason before it cuts them, and leaves out what cannot be masked', async () => {
    const secret = 'avaluethatnobodyistoread'
    const policy = createPublicPolicy(open)
    const log = { warn: (fields: object) => logged.push(fields as Record<string, unknown>) }
    let isBroken = false
    const masked = async (text: string) => {
      if (isBroken) throw new Error('no database')
      return text.replaceAll(secret, '[secret]')
    }
    await using other = await serveEgressProxy({ dir, name: 's', policy, log, network, masked })
    // The value lies across both cuts.
    for (const length of [245, 490]) await sendLine(`CONNECT ${'a'.repeat(length)}${secret}.localhost:443`)
    expect(logged.map(({ host }) => host)).toEqual([`${'a'.repeat(245)}[secret]`, 'a'.repeat(253)])
    expect(logged[1]?.['reason']).toBe(`${'a'.repeat(490)}[secret].l`)
    other.deny()
    await sendLine(`CONNECT ${secret}.example.com:443`)
    isBroken = true
    await sendLine(`CONNECT ${secret}.example.com:443`)
    expect(logged.slice(2)).toEqual([
      { host: '[secret].example.com', port: 443, reason: 'no Run is active in this sandbox' },
      { port: 443, err: expect.any(Error) },
    ])
  })
})
