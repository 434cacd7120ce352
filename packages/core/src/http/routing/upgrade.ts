import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/** The connection of a request that asks for another protocol. */
export interface Upgrade {
  /** What the client has sent behind the request. */
  readonly head: Buffer
  /** Takes the connection for the other protocol. Without it the request is answered as any other. */
  take(): Duplex
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/** Returns what a request can be upgraded by; null if it asks for no WebSocket. */
export const upgradeOf = (request: IncomingMessage): Upgrade | null => upgrades.get(request) ?? null

/** Whether a request asks for a WebSocket. Any other upgrade is answered as if it had not been asked for. */
export const asksForWebSocket = ({ headers, method }: IncomingMessage): boolean =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'

/**
 * Brings requests for WebSockets through the routes, their checks and their log. A route that takes none answers them; the
 * connection is closed behind its answer.
 */
export function routeUpgrades(app: FastifyInstance): void {
  app.server.on('upgrade', (request, socket, head) => {
    const response = new ServerResponse(request)
    // Nobody else listens now that the server has given the connection away.
    socket.on('error', () => socket.destroy())
    upgrades.set(request, {
      head,
      take: () => {
        response.detachSocket(request.socket)
        return socket
      },
    })
    response.assignSocket(request.socket)
    response.shouldKeepAlive = false
    response.once('finish', () => socket.end())
    app.routing(request, response)
  })
}
