import { connect, createServer, type Server, type Socket } from 'node:net'

const REDIAL_FOR_MS = 30_000
const REDIAL_EVERY_MS = 100
const MAX_CONNECTIONS = 512

/**
 * The sandbox's way out: forwards each connection on loopback to the proxy's unix socket, byte for byte. While the
 * proxy is away (a worker that restarts) it redials, so that a request is late instead of lost.
 */
export function forwardToProxy(port: number, proxySocket: string): Server {
  // Without `noDelay` the end of a model's answer waits 40 ms for its beginning to be acknowledged.
  const options = { allowHalfOpen: true, pauseOnConnect: true, noDelay: true }
  const server = createServer(options, client => dial(client, proxySocket))
  server.maxConnections = MAX_CONNECTIONS
  server.on('error', error => console.error(`berth-supervisor: no way to the proxy: ${error.message}`))
  server.listen(port, '127.0.0.1')
  return server
}

function dial(client: Socket, proxySocket: string): void {
  const giveUpAt = performance.now() + REDIAL_FOR_MS
  let redial: NodeJS.Timeout | undefined
  client.on('error', () => client.destroy())
  client.on('close', () => clearTimeout(redial))

  const attempt = () => {
    const proxy = connect({ path: proxySocket, allowHalfOpen: true })
    const absent = () => {
      if (client.destroyed) return
      if (performance.now() > giveUpAt) client.destroy()
      else redial = setTimeout(attempt, REDIAL_EVERY_MS)
    }
    proxy.once('error', absent)
    proxy.once('connect', () => {
      proxy.off('error', absent)
      if (client.destroyed) return proxy.destroy()
      join(client, proxy)
    })
  }
  attempt()
}

/** Each side ends the other's write side when it ends, and takes the other down when it breaks. */
function join(client: Socket, proxy: Socket): void {
  proxy.on('error', () => proxy.destroy())
  client.on('close', () => proxy.destroy())
  proxy.on('close', () => client.destroy())
  client.pipe(proxy)
  proxy.pipe(client)
}
