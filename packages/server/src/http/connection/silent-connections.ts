import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Connections on which no request has come yet. Browsers and HTTP clients open them ahead of need, and Node, which
 * closes idle connections when its server closes, takes these for busy ones and waits a minute for their first request.
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

  /** Closes them, and those that still come. */
  close(): void {
    this.#closing = true
    for (const socket of this.#silent) socket.destroy()
  }
}
