import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import type { Log } from '@berth/platform/kit/log.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import { FirstOrder, OrderRefused } from './first-order.ts'
import { RELAY_PROTOCOL } from './relay-door.ts'
import type { RelayTokens } from './relay-tokens.ts'

const ATTACH_MS = 10_000
const HEADERS_MS = 10_000
const MAX_HEADER_BYTES = 8 * 1024

interface RelayOptions {
  readonly tokens: Pick<RelayTokens, 'opens'>
  /** Returns the way to a host's sandboxes if this process holds it. */
  readonly doorOf: (host: string) => SupervisorDoor | null
  readonly log: Log
  readonly listener: { readonly host: string; readonly port: number }
}

/** The sandbox that a request is about; null if it names none. */
interface Admitted {
  readonly leaseId: string
  readonly door: SupervisorDoor
}

/**
 * Passes connections of other processes on to the sandboxes of hosts that this one holds. The first line of a connection must
 * order a terminal or a port; the relay reads nothing behind it.
 */
export class RelayServer implements AsyncDisposable {
  readonly #options: RelayOptions
  readonly #server: Server

  constructor(options: RelayOptions) {
    this.#options = options
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS })
    this.#server.on('request', (request, response) => void this.#answer(request, response))
    this.#server.on('upgrade', (request, socket, head) => void this.#attach(request, socket as Socket, head))
  }

  /** @returns the port that it got @throws StartError */
  async listen(): Promise<number> {
    const { host, port } = this.#options.listener
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject)
    this.#server.listen({ host, port }, resolve)
    await promise.catch(cause => {
      throw new StartError(
        `cannot listen on ${host}:${port} (${errorCode(cause)}); BERTH_RELAY_PORT chooses another port`,
        { cause },
      )
    })
    this.#server.off('error', reject)
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  /** @returns the status with which the request is refused, or what it asks for */
  #admit({ url, headers }: IncomingMessage): number | Admitted {
    const [, host, leaseId] = /^\/sandboxes\/([\w.%-]{1,200})\/([\w-]{1,64})$/.exec(url ?? '') ?? []
    if (host === undefined || leaseId === undefined) return 404
    const [, token = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? []
    if (!this.#options.tokens.opens(token, leaseId)) return 401
    const door = this.#options.doorOf(decodeURIComponent(host))
    return door === null ? 503 : { leaseId, door }
  }

  /** Tells whether a sandbox stands still. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const admitted = this.#admit(request)
    if (typeof admitted === 'number') return void response.writeHead(admitted, { Connection: 'close' }).end()
    const isStopped = await Promise.resolve(admitted.door.isStopped(admitted.leaseId)).catch(() => false)
    response.writeHead(204, { 'Berth-Sandbox-State': isStopped ? 'stopped' : 'running', Connection: 'close' }).end()
  }

  async #attach(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy())
    const admitted = request.headers.upgrade === RELAY_PROTOCOL ? this.#admit(request) : 404
    if (typeof admitted === 'number') return refuse(socket, admitted)
    let stream: Duplex
    try {
      stream = await admitted.door.attach(admitted.leaseId, AbortSignal.timeout(ATTACH_MS))
    } catch (error) {
      if (error instanceof SandboxGoneError) return refuse(socket, 410)
      this.#options.log.warn({ err: error, leaseId: admitted.leaseId }, 'a connection to a sandbox was not passed on')
      return refuse(socket, 503)
    }
    socket.setTimeout(0)
    socket.setNoDelay(true)
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${RELAY_PROTOCOL}\r\n\r\n`)
    if (head.length > 0) socket.unshift(head)
    const { leaseId } = admitted
    pipeline(socket, new FirstOrder(), stream, error => {
      if (error == null) return
      if (error instanceof OrderRefused)
        this.#options.log.warn({ err: error, leaseId }, 'an order to a sandbox was refused')
      stream.destroy()
    })
    pipeline(stream, socket, error => error != null && socket.destroy())
    if (socket.destroyed) stream.destroy()
  }
}

function refuse(socket: Socket, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
