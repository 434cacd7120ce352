import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Tracks connections without any request yet. Browsers and HTTP clients open such connections ahead of need. When its
 * server closes, Node closes idle connections but takes these for busy ones, and waits a minute for their first
 * request.
 */
export class SilentConnections {
  readonly #silent = new Set<Socket>()
  #closing = false

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      if (this.#closing) socket.destroy()
      this.#silent.add(socket)
      socket.once('close', () => this.#silent.delete(socket))
    })
    server.prependListener('request', ({ socket }) => this.#silent.delete(socket))
  }

  /** Closes these connections, and all later ones. */
  close(): void {
    this.#closing = true
    for (const socket of this.#silent) socket.destroy()
  }
}
