import { rename } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { SandboxEgress } from '../driver.ts'
import { joinStreams } from '../egress/join-streams.ts'
import { withShortPath } from '../egress/socket-directory.ts'
import { proxySocketName } from '../leases/lease-files.ts'

const MAX_CONNECTIONS = 512

/**
 * The socket of a sandbox's proxy. It passes each connection on to a proxy of the worker's: the pod's network reaches
 * nothing but the hosts' endpoint.
 */
export class PassingProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #open: SandboxEgress['proxy']

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, socket => void this.#pass(socket))
    this.#server.maxConnections = MAX_CONNECTIONS
  }

  /** Listens in a directory, and closes every connection until it is opened. */
  static async listen(directory: string): Promise<PassingProxy> {
    const made = new PassingProxy()
    await withShortPath(directory, async short => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      made.#server.once('error', reject)
      made.#server.listen({ path: short(`${proxySocketName}.new`), readableAll: true, writableAll: true }, resolve)
      await promise
      made.#server.off('error', reject)
    })
    // The name of a process before this one goes in the same step.
    await rename(join(directory, `${proxySocketName}.new`), join(directory, proxySocketName))
    return made
  }

  /** Passes connections on from now on. */
  open({ proxy }: SandboxEgress): void {
    this.#open = proxy
  }

  /** Closes all connections, and new ones at once. */
  close(): void {
    this.#open = undefined
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    await promise
  }

  async #pass(socket: Socket): Promise<void> {
    const left = new AbortController()
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      left.abort(new Error('the client left'))
    })
    try {
      const through = await this.#open?.(left.signal)
      if (through === undefined || socket.destroyed) {
        through?.destroy()
        socket.destroy()
        return
      }
      joinStreams(socket, through)
    } catch {
      socket.destroy()
    }
  }
}
