import { connect, createServer, type Server, type Socket } from 'node:net'

const REDIAL_FOR_MS = 30_000
const REDIAL_EVERY_MS = 100
const MAX_CONNECTIONS = 512

/**
 * Forwards each loopback connection to the proxy's unix socket, byte for byte; it is the sandbox's only way out. While
 * the proxy is absent, because its worker restarts, it redials, so a request is late instead of lost.
 */
export function forwardToProxy(port: number, proxySocket: string): Server {
  // Without `noDelay`, the end of a model's answer waits 40 ms until its beginning is acknowledged.
  const options = { allowHalfOpen: true, pauseOnConnect: true, noDelay: true }
  const server = createServer(options, client => dial(client, proxySocket))
  server.maxConnections = MAX_CONNECTIONS
  server.on('error', error => console.error(`berth-supervisor: cannot listen for the proxy: ${error.message}`))
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

/** Joins the two sockets: each passes on the end of its stream, and a broken one destroys the other. */
function join(client: Socket, proxy: Socket): void {
  proxy.on('error', () => proxy.destroy())
  client.on('close', () => proxy.destroy())
  proxy.on('close', () => client.destroy())
  client.pipe(proxy)
  proxy.pipe(client)
}
