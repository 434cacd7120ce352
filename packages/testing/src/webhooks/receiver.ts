import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import type { Certified } from './test-authority.ts'

/** A request as it arrived. */
export interface Received {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly httpVersion: string
  /** Names and values in their order and spelling. */
  readonly rawHeaders: readonly string[]
  readonly signature: string
  readonly body: Buffer
  readonly servername: string | undefined
  /** Counts connections from 1. */
  readonly connection: number
}

export type Answer = (response: ServerResponse, received: Received) => void

/** A receiver of webhooks on loopback. */
export class Receiver implements AsyncDisposable {
  readonly received: Received[] = []
  /** Answers the requests; a test replaces it. */
  answer: Answer = response => response.writeHead(204).end()
  readonly #server: Server
  #connections = 0

  private constructor(certified: Certified | null) {
    const listener: RequestListener = (request, response) => void this.#receive(request, response)
    this.#server = certified === null ? createHttp(listener) : createHttps(certified, listener)
    this.#server.on(certified === null ? 'connection' : 'secureConnection', socket => {
      this.#connections += 1
      Object.assign(socket, { connectionNumber: this.#connections })
    })
    this.#server.on('clientError', () => undefined)
  }

  /** @param certified null to receive without TLS */
  static async open(certified: Certified | null): Promise<Receiver> {
    const receiver = new Receiver(certified)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The ids of the Events that arrived, in order. */
  get ids(): readonly unknown[] {
    return this.received.map(({ body }) => JSON.parse(body.toString()).id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => null)
    if (body === null) return
    const socket = request.socket as TLSSocket & { readonly connectionNumber: number }
    const received: Received = {
      method: request.method,
      path: request.url,
      httpVersion: request.httpVersion,
      rawHeaders: request.rawHeaders,
      signature: String(request.headers['svc-signature']),
      body,
      servername: typeof socket.servername === 'string' ? socket.servername : undefined,
      connection: socket.connectionNumber,
    }
    this.received.push(received)
    this.answer(response, received)
  }
}
