import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callbackHeaders, callbackPage } from './callback-page.ts'

/**
 * Receives the redirect that ends a sign-in in a browser, on loopback and for this sign-in alone: an answer with another
 * `state` is refused and does not end the wait, since any page could send one.
 */
export class CallbackListener implements AsyncDisposable {
  readonly #server: Server
  readonly #state: string
  readonly #received = Promise.withResolvers<URLSearchParams>()

  private constructor(server: Server, state: string) {
    this.#server = server.on('request', (request, response) => this.#answer(request, response))
    this.#state = state
  }

  /** Listens on a free port of 127.0.0.1. */
  static async open(state: string): Promise<CallbackListener> {
    // Imported here, because a bundle loads static imports of Node at every start; this one takes 40 ms.
    const { createServer } = await import('node:http')
    const listener = new CallbackListener(createServer(), state)
    listener.#server.listen(0, '127.0.0.1')
    await once(listener.#server, 'listening')
    return listener
  }

  get redirectUri(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/callback`
  }

  /** Resolves to the parameters of the redirect; it may still say that the person declined. */
  get response(): Promise<URLSearchParams> {
    return this.#received.promise
  }

  /** Ends the listener once the page under way has been sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeIdleConnections()
    await closed
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'GET' || url?.pathname !== '/callback') send(response, 404, 'unknown')
    else if (!isEqual(url.searchParams.get('state') ?? '', this.#state)) send(response, 400, 'foreign')
    else {
      // Wait for the page to leave: the process ends soon after.
      response.once('close', () => this.#received.resolve(url.searchParams))
      send(response, 200, url.searchParams.has('error') ? 'declined' : 'approved')
    }
  }
}

function send(response: ServerResponse, status: number, kind: Parameters<typeof callbackPage>[0]): void {
  response.writeHead(status, { ...callbackHeaders, connection: 'close' }).end(callbackPage(kind))
}

function isEqual(a: string, b: string): boolean {
  const [given, expected] = [Buffer.from(a), Buffer.from(b)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
