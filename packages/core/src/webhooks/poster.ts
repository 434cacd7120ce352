import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Network } from '@berth/platform/network/dial.ts'
import { hasKept, PinnedHttpAgent, PinnedHttpsAgent, type PinnedRequest } from './pinned-agent.ts'
import { AttemptFailed } from './webhook-addresses.ts'

/** Of a response's body this much, or this long, is read and thrown away, so that the connection can be kept. */
const MOST_BODY_BYTES = 64 * 1024
const BODY_MS = 1_000

/** A request to a receiver. */
export interface Post {
  readonly url: URL
  /** The host of the URL without brackets and final dot. */
  readonly servername: string
  /** Judged just now; they are tried in turn until one answers. */
  readonly addresses: readonly string[]
  readonly body: string | Uint8Array
  /** Beside the host and the length of the body. */
  readonly headers: Readonly<Record<string, string>>
}

/** The answer of a receiver. */
interface Posted {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Resolves once the body was thrown away. */
  readonly drained: Promise<void>
}

/** Posts to receivers, on connections that it keeps by address. It follows no redirect. */
export class Poster implements Disposable {
  readonly #http: PinnedHttpAgent
  readonly #https: PinnedHttpsAgent

  /** @param ca certificates to trust instead of the system's */
  constructor(network: Network, ca?: string) {
    this.#http = new PinnedHttpAgent(network)
    this.#https = new PinnedHttpsAgent(network, ca)
  }

  /**
   * Posts, and returns the status of the response once its headers are here. Its body is thrown away until `drained`
   * resolves.
   * @throws AttemptFailed without a response; the reason of the signal if it aborts
   */
  async post(post: Post, signal: AbortSignal): Promise<Posted> {
    const { agent } = this.#transport(post)
    const requests = post.addresses.map(address => pinned(post, address, signal))
    // A kept connection costs no handshake, whichever of the addresses it leads to.
    const inTurn = requests.toSorted((a, b) => Number(hasKept(agent, b)) - Number(hasKept(agent, a)))
    let failure: unknown
    for (let at = inTurn.values(), next = at.next(); !next.done; ) {
      try {
        const response = await this.#send(post, next.value)
        const { statusCode = 0, headers } = response
        return { status: statusCode, headers, drained: drain(response) }
      } catch (error) {
        signal.throwIfAborted()
        // The agent has dropped that connection, so the same request soon gets a fresh one.
        if (error instanceof StaleConnection) continue
        failure = error
        if (!isUnreached(error)) break
        next = at.next()
      }
    }
    throw failure
  }

  [Symbol.dispose](): void {
    this.#http.destroy()
    this.#https.destroy()
  }

  #transport({ url }: Post) {
    return url.protocol === 'http:'
      ? ({ agent: this.#http, request: requestHttp } as const)
      : ({ agent: this.#https, request: requestHttps } as const)
  }

  #send(post: Post, pinnedRequest: PinnedRequest): Promise<IncomingMessage> {
    const { agent, request } = this.#transport(post)
    const { url, body, headers } = post
    const sent = request({
      ...pinnedRequest,
      agent,
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      setHost: false,
      headers: {
        Host: url.host,
        'Content-Length': Buffer.byteLength(body),
        ...headers,
      },
    })
    // HTTP/1.1 keeps connections without saying so.
    sent.removeHeader('Connection')
    sent.end(body)
    return new Promise((resolve, reject) => {
      sent.once('response', resolve).on('error', error => reject(failureOf(error, sent.reusedSocket)))
    })
  }
}

/** A kept connection that the receiver closed as the request was on its way. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

const isUnreached = (error: unknown): boolean => error instanceof AttemptFailed && error.error === 'connection_failed'

function failureOf(error: Error, wasKept: boolean): Error {
  if (error instanceof AttemptFailed) return error
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('HPE_')) return new AttemptFailed('invalid_response', error)
  if (wasKept && (code === 'ECONNRESET' || code === 'EPIPE')) return new StaleConnection(code, { cause: error })
  return new AttemptFailed('connection_lost', error)
}

const pinned = ({ url, servername }: Post, address: string, signal: AbortSignal): PinnedRequest => ({
  host: address,
  port: url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port),
  servername,
  signal,
  dialSignal: signal,
})

/** Reads a body within its bounds and keeps nothing. A connection whose body did not end is closed. */
async function drain(response: IncomingMessage): Promise<void> {
  const patience = setTimeout(() => response.destroy(), BODY_MS)
  let bytes = 0
  try {
    for await (const chunk of response) {
      bytes += chunk.length
      if (bytes > MOST_BODY_BYTES) break
    }
  } catch {
    // The outcome was the status; whatever became of the body changes nothing.
  } finally {
    clearTimeout(patience)
    response.destroy()
  }
}
