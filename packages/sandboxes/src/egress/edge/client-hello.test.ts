import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { NotTls, parseClientHello, readClientHello } from './client-hello.ts'

let hello: Buffer

/** The first bytes of a real client. */
beforeAll(async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ host: '127.0.0.1', port, servername: 'API.example.com', ALPNProtocols: ['h2', 'http/1.1'] })
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  ;[hello] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  client.destroy()
  server.close()
})

const expected = { serverName: 'api.example.com', protocols: ['h2', 'http/1.1'] }

test('reads the name and the protocols of a client, once the hello is whole', () => {
  expect(parseClientHello(hello)).toEqual(expected)
  for (let length = 0; length < hello.length; length += 1)
    expect(parseClientHello(hello.subarray(0, length))).toBeUndefined()
})

test('reads a hello in many records', () => {
  const body = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < body.length; at += 100) {
    const part = body.subarray(at, at + 100)
    records.push(Buffer.from([22, 3, 1, 0, part.length]), part)
  }
  expect(parseClientHello(Buffer.concat(records))).toEqual(expected)
})

test.each([
  ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ["a server's hello", Buffer.from([22, 3, 3, 0, 4, 2, 0, 0, 0])],
  ['an endless hello', Buffer.from([22, 3, 3, 0, 4, 1, 255, 255, 255])],
  ['a field that ends too late', Buffer.from([22, 3, 3, 0, 6, 1, 0, 0, 2, 3, 3])],
])('refuses %s', (_, bytes) => {
  expect(() => parseClientHello(bytes)).toThrow(NotTls)
})

test('no bytes make it fail in another way', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat({ max: 400 }), (bytes, at) => {
      const changed = Buffer.from(hello)
      changed.set(bytes.subarray(0, Math.max(0, changed.length - at)), Math.min(at, changed.length))
      try {
        parseClientHello(changed)
      } catch (error) {
        expect(error).toBeInstanceOf(NotTls)
      }
    }),
  )
})

test('puts back every byte that it has read', async () => {
  const client = new PassThrough()
  client.write(hello.subarray(10, 50))
  const reading = readClientHello(client, hello.subarray(0, 10), new AbortController().signal)
  client.write(hello.subarray(50))
  expect(await reading).toEqual(expected)
  client.end('more')
  expect(await buffer(client)).toEqual(Buffer.concat([hello, Buffer.from('more')]))
})

test('ends with its client, and with its signal', async () => {
  const client = new PassThrough()
  const reading = readClientHello(client, hello.subarray(0, 10), new AbortController().signal)
  client.end()
  await expect(reading).rejects.toThrow(NotTls)
  const late = new AbortController()
  const waiting = readClientHello(new PassThrough(), Buffer.alloc(0), late.signal)
  late.abort(new Error('too late'))
  await expect(waiting).rejects.toThrow('too late')
})
