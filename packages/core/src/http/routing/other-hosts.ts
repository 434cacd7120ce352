import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/** Answers for hosts that the service has besides its own. */
export interface OtherHosts {
  /** Whether a request is for such a host. */
  takes(request: IncomingMessage): boolean
  answer(request: IncomingMessage, response: ServerResponse): void
  /** Answers a request for a WebSocket. @param head what the client has sent behind the request */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every connection that it holds open. */
  close(): void
}

/**
 * Hands requests for other hosts over before any route, hook or log line of the service sees them. Call it when all
 * listeners of the server are there.
 */
export function routeOtherHosts(app: FastifyInstance, hosts: OtherHosts): void {
  const { server } = app
  const requested = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    if (hosts.takes(request)) hosts.answer(request, response)
    else for (const listener of requested) Reflect.apply(listener, server, [request, response])
  })
  const upgraded = server.listeners('upgrade')
  server.removeAllListeners('upgrade')
  server.on('upgrade', (request, socket, head) => {
    if (hosts.takes(request)) hosts.upgrade(request, socket, head)
    else for (const listener of upgraded) Reflect.apply(listener, server, [request, socket, head])
  })
  app.addHook('preClose', async () => hosts.close())
}
