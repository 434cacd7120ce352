import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Network, openNetwork } from '@berth/platform/network/dial.ts'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EgressProxy, serveEgressProxy } from './proxy.ts'
import { createReachPolicy, type ProxyPolicy } from './reach-policy.ts'

const log = { warn: () => undefined }
let dir: string
let path: string
let proxy: EgressProxy | undefined
let dialled: string[]
let resolved: string[]
const clean: (() => void)[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-proxy-'))
  path = join(dir, 'proxy.sock')
  dialled = []
  resolved = []
})
afterEach(async () => {
  for (const one of clean.splice(0)) one()
  await proxy?.[Symbol.asyncDispose]()
  proxy = undefined
  await rm(dir, { recursive: true })
})

/** A network that never leaves the machine: the table answers every name, and dialling beyond loopback throws. */
function network(names: Readonly<Record<string, readonly string[]>> = {}): Network {
  const answer = async (name: string) => {
    resolved.push(name)
    const found = names[name]
    if (!found) throw new Error(`no such name: ${name}`)
    return found
  }
  return {
    lookUp: answer,
    resolve: answer,
    dial: async (address, port, signal) => {
      dialled.push(`${address}:${port}`)
      if (address !== '127.0.0.1') throw new Error('not loopback')
      return openNetwork().dial(address, port, signal)
    },
  }
}

async function serve(policy: ProxyPolicy | readonly string[], names?: Readonly<Record<string, readonly string[]>>) {
  const judge = typeof policy === 'function' ? policy : createReachPolicy(policy)
  proxy = await serveEgressProxy({ dir, name: 'proxy.sock', policy: judge, log, network: network(names) })
  return proxy
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  clean.push(() => server.close())
  return (server.address() as AddressInfo).port
}

function upstream(listener: RequestListener): Promise<number> {
  const server = createHttpServer(listener)
  clean.push(() => server.closeAllConnections())
  return listen(server)
}

function echo(): Promise<number> {
  return listen(createNetServer({ allowHalfOpen: true }, socket => socket.on('error', () => undefined).pipe(socket)))
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly response: IncomingMessage
}

async function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: Readable } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = options
  const outgoing = request({ socketPath: path, path: url, method, headers: { host: 'ignored', ...headers } })
  if (body) body.pipe(outgoing)
  else outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  // The proxy may refuse the request, and go away, while the body is still being sent.
  outgoing.on('error', () => undefined)
  return { status: response.statusCode ?? 0, body: await text(response), response }
}

/** Opens a tunnel by hand. */
async function tunnel(authority: string): Promise<{ readonly socket: Socket; readonly head: string }> {
  const socket = connect({ path, allowHalfOpen: true })
  clean.push(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
  let head = ''
  while (!head.includes('\r\n\r\n')) {
    const part: Buffer | null = socket.read()
    if (part) head += part.toString('latin1')
    else await once(socket, 'readable')
  }
  return { socket, head }
}

describe('refusals', () => {
  it('come before any resolving or dialling, and say why', async () => {
    const port = await upstream((_, response) => response.end('never'))
    await serve([`http://127.0.0.1:${port}`])
    const plain = await ask('http://example.com/')
    expect([plain.status, plain.body]).toEqual([403, expect.stringContaining('may not reach example.com:80')])
    for (const host of ['localhost', '127.0.0.2', '169.254.169.254', 'metadata.internal']) {
      expect((await ask(`http://${host}:${port}/`)).status).toBe(403)
      const { head, socket } = await tunnel(`${host}:${port}`)
      expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
      expect(head + (await text(socket))).toContain(`may not reach ${host}:${port}`)
    }
    expect(resolved).toEqual([])
    expect(dialled).toEqual([])
  })

  it('answer a request that still sends its body', async () => {
    await serve([])
    const big = Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(65_536)))
    expect((await ask('http://example.com/', { method: 'POST', body: big })).status).toBe(403)
  })

  it('answer 400 to a request that is not for a proxy', async () => {
    await serve([])
    for (const url of ['/', 'https://example.com/', 'ftp://example.com/'])
      expect((await ask(url)).status, url).toBe(400)
    expect((await tunnel('nonsense')).head).toMatch(/^HTTP\/1\.1 400 /)
  })

  it('follow a change of policy at once', async () => {
    const port = await upstream((_, response) => response.end('here'))
    const serving = await serve([])
    expect((await ask(`http://127.0.0.1:${port}/`)).status).toBe(403)
    serving.allow({ policy: createReachPolicy([`http://127.0.0.1:${port}`]) })
    expect((await ask(`http://127.0.0.1:${port}/`)).body).toBe('here')
  })

  it('come if any address of a name is forbidden, before one is dialled', async () => {
    const port = await upstream((_, response) => response.end('here'))
    const mayDial = (address: string) => address === '127.0.0.1'
    await serve(({ host }) => ({ kind: 'allow', how: 'public', name: host, mayDial }), {
      mixed: ['127.0.0.1', '10.0.0.1'],
      good: ['127.0.0.1'],
    })
    expect((await ask(`http://mixed:${port}/`)).status).toBe(403)
    expect(dialled).toEqual([])
    expect((await ask(`http://good:${port}/`)).body).toBe('here')
    expect(resolved).toEqual(['mixed', 'good'])
    expect(dialled).toEqual([`127.0.0.1:${port}`])
  })
})

describe('plain requests', () => {
  it('carry method, path, body and headers, but no hop-by-hop headers', async () => {
    let seen: { method: string | undefined; url: string | undefined; raw: string[]; body: string } | undefined
    const port = await upstream(async (incoming, response) => {
      seen = { method: incoming.method, url: incoming.url, raw: incoming.rawHeaders, body: await text(incoming) }
      response.writeHead(201, 'Made', [
        'X-A',
        '1',
        'X-A',
        '2',
        'Connection',
        'X-Hop',
        'X-Hop',
        '1',
        'Keep-Alive',
        'timeout=9',
      ])
      response.end('answer')
    })
    await serve([`http://127.0.0.1:${port}`])
    const headers = {
      'X-Mine': 'v',
      Connection: 'X-Drop',
      'X-Drop': '1',
      'Proxy-Authorization': 'secret',
      TE: 'trailers',
    }
    const body = Readable.from(['one ', 'two'])
    const {
      status,
      response,
      body: got,
    } = await ask(`http://127.0.0.1:${port}/p/a?q=1`, { method: 'POST', headers, body })
    expect([status, response.statusMessage, got]).toEqual([201, 'Made', 'answer'])
    expect(response.headers['x-a']).toBe('1, 2')
    expect(response.headers['x-hop']).toBeUndefined()
    expect(seen).toMatchObject({ method: 'POST', url: '/p/a?q=1', body: 'one two' })
    const names = seen?.raw.filter((_, index) => index % 2 === 0).map(one => one.toLowerCase())
    expect(names).toContain('x-mine')
    for (const hop of ['x-drop', 'proxy-authorization', 'te']) expect(names).not.toContain(hop)
    expect(seen?.raw[1]).toBe(`127.0.0.1:${port}`)
  })

  it('stream answers as they arrive', async () => {
    let finish: (() => void) | undefined
    const port = await upstream((_, response) => {
      response.write('first')
      finish = () => response.end('last')
    })
    await serve([`http://127.0.0.1:${port}`])
    const outgoing = request({ socketPath: path, path: `http://127.0.0.1:${port}/` }).end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const [first] = await once(response, 'data')
    expect(String(first)).toBe('first')
    finish?.()
    expect(await text(response)).toBe('last')
  })

  it('slow the upstream down if the client does not read', async () => {
    let sent = 0
    const port = await upstream((_, response) => {
      const more = () => {
        while (sent < 256 && response.write(Buffer.alloc(1024 * 1024))) sent++
        if (sent++ < 256) response.once('drain', more)
        else response.end()
      }
      more()
    })
    await serve([`http://127.0.0.1:${port}`])
    const outgoing = request({ socketPath: path, path: `http://127.0.0.1:${port}/` }).end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    let before = 0
    // Settled: no more data was taken between two checks.
    await until('the upstream waits', () => {
      const settled = sent > 0 && sent === before
      before = sent
      return settled
    })
    expect(sent).toBeLessThan(64)
    response.destroy()
  })

  it('answer 502 when the upstream refuses, breaks off or has no address', async () => {
    const closed = await listen(createNetServer(socket => socket.destroy()))
    const server = createNetServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const dead = (server.address() as AddressInfo).port
    server.close()
    await once(server, 'close')
    await serve([`http://127.0.0.1:${closed}`, `http://127.0.0.1:${dead}`, 'http://nowhere'])
    for (const host of [`127.0.0.1:${closed}`, `127.0.0.1:${dead}`, 'nowhere']) {
      const { status, body } = await ask(`http://${host}/`)
      expect([status, body], host).toEqual([502, expect.stringContaining('could not reach')])
    }
    expect((await tunnel(`127.0.0.1:${dead}`)).head).toMatch(/^HTTP\/1\.1 502 /)
  })

  it('break, instead of ending, when the upstream breaks midway', async () => {
    const port = await upstream((_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('part')
      setImmediate(() => response.destroy())
    })
    await serve([`http://127.0.0.1:${port}`])
    await expect(ask(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  })

  it('close the upstream when the client leaves', async () => {
    let left = false
    const port = await upstream((incoming, response) => {
      response.write('first')
      incoming.socket.on('close', () => {
        left = true
      })
    })
    await serve([`http://127.0.0.1:${port}`])
    const outgoing = request({ socketPath: path, path: `http://127.0.0.1:${port}/` }).end()
    await once(outgoing, 'response')
    outgoing.destroy()
    await until('the upstream hears of it', () => left)
  })
})

describe('tunnels', () => {
  it('carry bytes both ways, including those sent along with the request', async () => {
    const port = await echo()
    await serve([`http://127.0.0.1:${port}`])
    const socket = connect({ path, allowHalfOpen: true })
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nearly `)
    socket.end('late')
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer.endsWith('early late')).toBe(true)
  })

  it('keep one direction open to its last byte after the other has ended', async () => {
    const size = 8 * 1024 * 1024
    const server = createNetServer({ allowHalfOpen: true }, async socket => {
      const response = await text(socket)
      socket.end(Buffer.alloc(size, response))
    })
    const port = await listen(server)
    await serve([`https://127.0.0.1:${port}`])
    const { socket } = await tunnel(`127.0.0.1:${port}`)
    socket.end('x')
    let got = 0
    for await (const part of socket) got += (part as Buffer).length
    expect(got).toBe(size)
  })

  it.each([
    // bound: it is to be over
    ['silent', { idleMs: 100, lifeMs: 60_000 }, 0],
    // bound: it is to be over
    ['dripping', { idleMs: 60_000, lifeMs: 300 }, 20],
  ])('end when they are %s for too long', async (_, bounds, dripMs) => {
    const port = await echo()
    const policy = createReachPolicy([`http://127.0.0.1:${port}`])
    proxy = await serveEgressProxy({ dir, name: 'proxy.sock', policy, log, network: network(), bounds })
    const { socket } = await tunnel(`127.0.0.1:${port}`)
    const drip = dripMs > 0 ? setInterval(() => socket.write('x'), dripMs) : undefined
    clean.push(() => clearInterval(drip))
    await until('the tunnel ends', () => socket.resume().closed || socket.readableEnded)
  })

  it('end on both sides when either breaks', async () => {
    const inner: Socket[] = []
    const port = await listen(createNetServer(socket => inner.push(socket.on('error', () => undefined))))
    await serve([`http://127.0.0.1:${port}`])
    const first = await tunnel(`127.0.0.1:${port}`)
    await until('accepted', () => inner.length === 1)
    inner[0]?.resetAndDestroy()
    await until('the client hears of it', () => first.socket.closed || first.socket.resume().readableEnded)
    const second = await tunnel(`127.0.0.1:${port}`)
    await until('accepted', () => inner.length === 2)
    second.socket.destroy()
    await until('the upstream hears of it', () => inner[1]?.resume().closed ?? false)
  })
})

describe('a proxy at rest', () => {
  it('closes its connections and refuses allowed targets until it is opened again', async () => {
    const port = await echo()
    const rules = { policy: createReachPolicy([`http://127.0.0.1:${port}`]) }
    const serving = await serve(rules.policy)
    const { head, socket } = await tunnel(`127.0.0.1:${port}`)
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    serving.deny()
    await until('closed', () => socket.resume().closed || socket.readableEnded)
    expect((await tunnel(`127.0.0.1:${port}`)).head).toMatch(/^HTTP\/1\.1 403 /)
    expect(dialled).toHaveLength(1)
    serving.allow(rules)
    expect((await tunnel(`127.0.0.1:${port}`)).head).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a proxy', () => {
  it('ends a request that drips for too long', async () => {
    let drip: NodeJS.Timeout | undefined
    const port = await upstream((_, response) => {
      drip = setInterval(() => response.write('x'), 20)
      response.once('close', () => clearInterval(drip))
    })
    const policy = createReachPolicy([`http://127.0.0.1:${port}`])
    // bound: it is to be over
    const bounds = { idleMs: 60_000, lifeMs: 300 }
    proxy = await serveEgressProxy({ dir, name: 'proxy.sock', policy, log, network: network(), bounds })
    await expect(ask(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  })

  it('survives garbage and endless headers', async () => {
    await serve([])
    for (const garbage of [
      '\0\x01\x02\xff\r\n\r\n',
      'GET\r\n\r\n',
      `GET http://a/ HTTP/1.1\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`,
      'CONNECT\r\n\r\n',
    ]) {
      const socket = connect(path)
      socket.on('error', () => undefined)
      socket.write(garbage, 'latin1')
      // Answered or reset; either way the connection ends and the proxy serves the next request.
      await text(socket).catch(() => '')
      expect((await ask('http://example.com/')).status).toBe(403)
    }
  })

  it('replaces the socket of a dead process and leaves no other file', async () => {
    const first = await serve([])
    const port = await upstream((_, response) => response.end('second'))
    await serve([`http://127.0.0.1:${port}`])
    await first[Symbol.asyncDispose]()
    expect((await ask(`http://127.0.0.1:${port}/`)).body).toBe('second')
    expect(await readdir(dir)).toEqual(['proxy.sock'])
    expect((await stat(path)).mode & 0o777).toBe(0o666)
  })

  it('ends its connections when it is disposed of', async () => {
    const port = await echo()
    const serving = await serve([`http://127.0.0.1:${port}`])
    const { socket } = await tunnel(`127.0.0.1:${port}`)
    await serving[Symbol.asyncDispose]()
    await until('closed', () => socket.resume().closed || socket.readableEnded)
  })
})
