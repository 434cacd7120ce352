import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * What stands between a machine and the workers that take it: a balancer that sends each connection to any of them, and a
 * line that can be cut.
 */
export class CuttableLine implements AsyncDisposable {
  readonly #server: Server
  readonly #open = new Set<Socket>()
  #isCut = false

  /** @param chooses returns the port of a worker for a new connection */
  static async to(chooses: () => number): Promise<CuttableLine> {
    const server = createServer()
    const line = new CuttableLine(server)
    server.on('connection', socket => line.#join(socket, chooses()))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return line
  }

  private constructor(server: Server) {
    this.#server = server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Breaks what is open, and takes nothing new for a time. */
  async cut(ms: number): Promise<void> {
    this.#isCut = true
    for (const socket of this.#open) socket.resetAndDestroy()
    await sleep(ms)
    this.#isCut = false
  }

  #join(near: Socket, port: number): void {
    if (this.#isCut) {
      near.destroy()
      return
    }
    const far = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#open.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
