import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Sends requests over one connection, one after another. Once that is closed, all further and waiting ones fail. */
export class OneConnection extends Agent {
  #socket: Socket | undefined

  constructor(socket: Socket) {
    super({ keepAlive: true, maxSockets: 1 })
    this.#socket = socket
  }

  override createConnection(_: unknown, done?: (error: Error | null, socket: Duplex) => void): Duplex | undefined {
    const socket = this.#socket
    this.#socket = undefined
    if (socket !== undefined && !socket.destroyed) return socket
    const error = new Error('the host has closed the connection')
    // Node asks for the first of those that wait, in a handler of an event, and never for the others.
    for (const waiting of Object.values(this.requests).flat()) waiting?.emit('error', error)
    done?.(error, undefined as never)
    return undefined
  }
}
