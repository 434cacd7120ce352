import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forwardToProxy } from './proxy-forwarder.ts'

let directory = ''
let forwarder: Server
let port = 0

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'berth-forwarder-'))
  forwarder = forwardToProxy(0, join(directory, 'proxy.sock'))
  await once(forwarder, 'listening')
  port = (forwarder.address() as AddressInfo).port
})

afterEach(() => {
  forwarder.close()
  rmSync(directory, { recursive: true, force: true })
})

/** A proxy that echoes everything once the client has finished sending. */
async function echoProxy(): Promise<Server> {
  const server = createServer(
    { allowHalfOpen: true },
    socket => void text(socket).then(sent => socket.end(`<${sent}>`)),
  )
  server.listen(join(directory, 'proxy.sock'))
  await once(server, 'listening')
  return server
}

test('the forwarder carries bytes both ways, and each direction ends by itself', async () => {
  const proxy = await echoProxy()
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.end('x'.repeat(1_000_000))
  expect(await text(client)).toBe(`<${'x'.repeat(1_000_000)}>`)
  proxy.close()
})

test('the forwarder waits for a proxy that has not started yet', async () => {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.end('early')
  await once(client, 'connect')
  const proxy = await echoProxy()
  expect(await text(client)).toBe('<early>')
  proxy.close()
})

test('the forwarder closes the client if the proxy breaks off, and the proxy if the client does', async () => {
  const ends: Promise<unknown>[] = []
  const proxy = createServer(socket => {
    socket.on('error', () => {})
    ends.push(once(socket, 'close'))
    socket.once('data', data => (data.toString() === 'break' ? socket.destroy() : socket.write('ok')))
  })
  proxy.listen(join(directory, 'proxy.sock'))
  await once(proxy, 'listening')

  const broken = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  broken.resume().write('break')
  await once(broken, 'close')

  const leaving = connect({ port, host: '127.0.0.1' })
  leaving.write('stay')
  await once(leaving, 'data')
  leaving.resetAndDestroy()
  await Promise.all(ends)
  expect(ends).toHaveLength(2)
  proxy.close()
})
