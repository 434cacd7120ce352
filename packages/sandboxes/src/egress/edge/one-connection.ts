import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Sends requests over one connection, one after another. */
export class OneConnection extends Agent {
  #socket: Socket | undefined

  constructor(socket: Socket) {
    super({ keepAlive: true, maxSockets: 1 })
    this.#socket = socket
  }

  override createConnection(): Duplex {
    const socket = this.#socket
    this.#socket = undefined
    if (socket === undefined || socket.destroyed) throw new Error('the host has closed the connection')
    return socket
  }
}
