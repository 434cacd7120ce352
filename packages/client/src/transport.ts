import { withDeadline } from './deadline.ts'
import { BerthConnectionError, type BerthError, readRefusal } from './error.ts'
import type { Platform } from './platform.ts'
import { type RetryPolicy, retryDelayMs } from './retry.ts'

/**
 * A bearer credential, or a function that returns one. The function is called for every request and may cache. `renew`
 * is true once after the service has refused the last credential. Errors that it throws reach the caller, except that a
 * `BerthConnectionError` is retried like a lost request.
 */
export type Credential = string | ((wanted: { readonly renew: boolean }) => string | Promise<string>)

/** A request of one operation. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE'
  /** Path segments below the origin; each is percent-encoded. */
  readonly path: readonly string[]
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  /** Bytes to send in place of `body`; a header names their media type. */
  readonly octets?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** True if the request must not be repeated, because it would do its work twice. */
  readonly once?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface TransportSettings {
  readonly baseUrl: URL
  readonly credential: Credential
  readonly platform: Platform
  readonly retry: RetryPolicy
  readonly requestTimeoutMs: number
}

/** Sends requests with the credential; no other code retries calls. */
export class Transport {
  readonly #settings: TransportSettings

  constructor(settings: TransportSettings) {
    this.#settings = settings
  }

  /** Sends a request, with retries, and reads the whole body; null if the response has none. */
  async json(request: ApiRequest): Promise<{ readonly status: number; readonly body: unknown }> {
    const { platform, retry } = this.#settings
    for (let failures = 1; ; failures++) {
      try {
        return await this.#exchange(request)
      } catch (failure) {
        request.signal?.throwIfAborted()
        const delayMs = request.once ? null : retryDelayMs(failure, failures, retry, platform.random())
        if (delayMs === null) throw failure
        await platform.sleep(delayMs, request.signal)
      }
    }
  }

  /**
   * Sends a request once and returns the response with its body unread. The caller limits the wait. @throws BerthError
   */
  async open(request: ApiRequest): Promise<Response> {
    const response = await this.#send(request, false)
    if (response.ok) return response
    const refusal = await this.#refusal(request, response)
    if (!this.#mayRenew(refusal)) throw refusal
    const second = await this.#send(request, true)
    if (second.ok) return second
    throw await this.#refusal(request, second)
  }

  #exchange(request: ApiRequest): Promise<{ status: number; body: unknown }> {
    const { platform, requestTimeoutMs } = this.#settings
    const timeout = () => new BerthConnectionError(this.#url(request).href, `no answer in ${requestTimeoutMs} ms`)
    return withDeadline(platform, { ms: requestTimeoutMs, parent: request.signal, timeout }, async signal => {
      const bounded = { ...request, signal }
      const response = await this.open(bounded)
      const text = await this.#receive(bounded, () => response.text())
      if (text === '') return { status: response.status, body: null }
      const body = readObject(text)
      if (body === null)
        throw new BerthConnectionError(this.#url(request).href, 'the response did not come from the service')
      return { status: response.status, body }
    })
  }

  async #send(request: ApiRequest, renew: boolean): Promise<Response> {
    const { credential, platform } = this.#settings
    const bearer = typeof credential === 'string' ? credential : await credential({ renew })
    // Build the headers outside the guarded part: an invalid credential is the caller's mistake, not the network's.
    const headers = new Headers({ accept: 'application/json', ...request.headers, authorization: `Bearer ${bearer}` })
    if (request.body !== undefined) headers.set('content-type', 'application/json')
    const init: RequestInit = { method: request.method, headers, cache: 'no-store', signal: request.signal ?? null }
    if (request.body !== undefined) init.body = JSON.stringify(request.body)
    if (request.octets !== undefined) init.body = Uint8Array.from(request.octets)
    return this.#receive(request, () => platform.fetch(this.#url(request), init))
  }

  /** Converts every kind of connection failure to one error, except an abort by the caller. */
  async #receive<T>(request: ApiRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      request.signal?.throwIfAborted()
      throw new BerthConnectionError(this.#url(request).href, 'the connection failed', { cause })
    }
  }

  #refusal(request: ApiRequest, response: Response): Promise<BerthError> {
    return this.#receive(request, () => readRefusal(response, this.#settings.platform.now()))
  }

  /** A refused key stays refused; a token may only have expired. */
  #mayRenew(refusal: BerthError): boolean {
    return typeof this.#settings.credential === 'function' && refusal.code === 'invalid_or_expired_credential'
  }

  #url(request: ApiRequest): URL {
    const { baseUrl } = this.#settings
    const prefix = baseUrl.pathname.replace(/\/+$/, '')
    const url = new URL(`${prefix}/${request.path.map(segment).join('/')}`, baseUrl)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    return url
  }
}

/** Parses a body: the service sends JSON objects only, so anything else returns null. */
function readObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/** Encodes a path segment. The URL parser would resolve `.` and `..`, even encoded, to another resource. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new TypeError(`${JSON.stringify(text)} cannot be an id`)
  return encodeURIComponent(text)
}
