import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * Tracks the responses that each connection still owes; a client may pipeline requests. It tells whether bytes written
 * now would reach the client as the response to its latest request.
 */
export class OwedResponses {
  readonly #byConnection = new WeakMap<Socket, Set<Exchange>>()

  /** Registers a response until it is closed. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const owed = this.#byConnection.get(request.socket) ?? new Set()
    const exchange = { request, response }
    this.#byConnection.set(request.socket, owed.add(exchange))
    response.once('close', () => owed.delete(exchange))
  }

  /** Returns whether the connection owes a response besides the one to a request that is still arriving. */
  owesAnother(connection: Socket): boolean {
    const owed = [...(this.#byConnection.get(connection) ?? [])]
    return owed.length > 1 || owed.some(({ request, response }) => request.complete || response.headersSent)
  }
}
