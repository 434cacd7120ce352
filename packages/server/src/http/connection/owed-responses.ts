import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * The responses each connection still owes; a client may send its next request before the last is answered. It decides
 * whether bytes written to the connection would reach the client as the answer to what it sent last.
 */
export class OwedResponses {
  readonly #byConnection = new WeakMap<Socket, Set<Exchange>>()

  /** Counts a response in until its connection is done with it. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    const owed = this.#byConnection.get(request.socket) ?? new Set()
    const exchange = { request, response }
    this.#byConnection.set(request.socket, owed.add(exchange))
    response.once('close', () => owed.delete(exchange))
  }

  /** Whether the connection owes a response besides that to a request still on its way. */
  owesAnother(connection: Socket): boolean {
    const owed = [...(this.#byConnection.get(connection) ?? [])]
    return owed.length > 1 || owed.some(({ request, response }) => request.complete || response.headersSent)
  }
}
