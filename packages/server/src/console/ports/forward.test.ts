import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { type AddressInfo, connect, createServer as createPort, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { forwardRequest, forwardUpgrade } from './forward.ts'

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

async function listening<T extends Server>(server: T): Promise<number> {
  open.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** Starts a service in front of a port that answers every request with these bytes, whatever they are. */
async function behind(answer: string): Promise<{ port: number; seen: () => string }> {
  let seen = ''
  const agents = await listening(
    createPort(socket => {
      socket.on('error', () => undefined)
      socket.on('data', chunk => {
        seen += chunk
        socket.write(answer)
      })
    }),
  )
  const dialled = async () => {
    const stream = connect(agents, '127.0.0.1')
    await once(stream, 'connect')
    return { port: 3000, stream, secure: false }
  }
  const service = createServer(async (incoming, response) => forwardRequest(incoming, response, await dialled()))
  service.on('upgrade', async (incoming, _, head) => forwardUpgrade(incoming, head, await dialled()))
  return { port: await listening(service), seen: () => seen }
}

/** Asks as a proxy does that would use its connection again. Returns all that came until the service closed it. */
async function raw(port: number, text: string, then = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let got = ''
  socket.on('data', chunk => {
    if (got === '' && then !== '') socket.write(then)
    got += chunk
  })
  socket.on('error', () => undefined)
  socket.write(text)
  await once(socket, 'close')
  return got
}

const upgrading = [
  'GET /live HTTP/1.1',
  'Host: preview',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
].join('\r\n')

test('what does not switch protocols is answered, and gets none of the requests that follow', async () => {
  const { port, seen } = await behind(
    'HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\nSet-Cookie: svc_preview=x\r\nSet-Cookie: a=1; Domain=all\r\n\r\nno',
  )
  const got = await raw(port, `${upgrading}\r\n\r\n`, 'GET /another HTTP/1.1\r\nHost: other\r\nCookie: secret\r\n\r\n')
  expect(got).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(got.toLowerCase()).toContain('connection: close')
  expect(got).toMatch(/\r\n\r\nno$/)
  expect(got).not.toContain('svc_preview')
  expect(got).not.toContain('Domain')
  expect(seen()).toContain('GET /live')
  expect(seen()).not.toContain('another')
})

test('an answer longer than any buffer comes whole, also to an upgrade', async () => {
  const body = 'x'.repeat(5_000_000)
  const { port } = await behind(`HTTP/1.1 404 No\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  expect((await raw(port, `${upgrading}\r\n\r\n`)).split('\r\n\r\n', 2)[1] === body).toBe(true)
})

test('a switch is passed on without what belongs to others, and joins', async () => {
  const { port } = await behind(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\nUpgrade: websocket\r\nSet-Cookie: svc_preview=x\r\nSec-WebSocket-Accept: y\r\n\r\nfirst',
  )
  const socket = connect(port, '127.0.0.1')
  socket.write(`${upgrading}\r\n\r\n`)
  let got = ''
  for await (const chunk of socket) {
    got += chunk
    if (got.endsWith('first')) break
  }
  expect(got).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
  expect(got.toLowerCase()).toContain('sec-websocket-accept: y\r\n')
  expect(got.toLowerCase()).toContain('\r\nupgrade: websocket\r\n')
  expect(got).not.toMatch(/svc_preview|x-hop/i)
})

async function status(port: number): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const outgoing = request({ host: '127.0.0.1', port, agent: false, headers: { host: 'preview' } }).end()
  const [response] = await once(outgoing, 'response')
  response.resume()
  return { status: response.statusCode, headers: response.headers }
}

test.each([
  'HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX-Bad: a\u0001b\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nSet-Cookie: a=\u0001\r\nContent-Length: 0\r\n\r\n',
  'not HTTP\r\n\r\n',
])('the service refuses in place of %j', async answer => {
  const { port } = await behind(answer)
  expect((await status(port)).status).toBe(502)
  if (!answer.includes(' 101 ')) expect(await raw(port, `${upgrading}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 502 /)
})

test('the port is told of no proxy but the service, and clears nothing of the host', async () => {
  const { port, seen } = await behind(
    'HTTP/1.1 200 OK\r\nClear-Site-Data: "cookies"\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n',
  )
  const got = await raw(
    port,
    [
      'GET / HTTP/1.1',
      'Host: preview',
      'Connection: close, X-Hop',
      'X-Hop: 1',
      'X-Forwarded-For: 10.0.0.1',
      'X-Forwarded-Host: evil',
      'X-Forwarded-Port: 1',
      'Forwarded: for=10.0.0.1',
      'X-Real-IP: 10.0.0.1',
      '\r\n',
    ].join('\r\n'),
  )
  expect(got).toContain('200 OK')
  expect(got).not.toMatch(/clear-site-data|h2c/i)
  expect(seen()).toMatch(/x-forwarded-host: preview/i)
  expect(seen()).not.toMatch(/10\.0\.0\.1|evil|x-forwarded-port|x-hop/i)
})

test('a body without a length reaches the port in its frame', async () => {
  const { port, seen } = await behind('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  const body = 'GET /smuggled HTTP/1.1\r\n\r\n'
  await raw(
    port,
    `GET / HTTP/1.1\r\nHost: preview\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
  expect(seen()).toMatch(/transfer-encoding: chunked/i)
})
