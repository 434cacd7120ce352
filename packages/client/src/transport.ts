import type { CallOptions, Credential } from './call-options.ts'
import { abortAfter, linkedController, withDeadline } from './deadline.ts'
import { BerthConnectionError, BerthError, readRefusal } from './error.ts'
import type { Attempt, Hooks } from './hooks.ts'
import type { Platform } from './platform.ts'
import { type RetryPolicy, retryDelayMs } from './retry.ts'

type QueryValue = string | number

/** A request of one operation. */
export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE'
  /** Path segments below the origin; each is percent-encoded. */
  readonly path: readonly string[]
  readonly query?: Readonly<Record<string, QueryValue | readonly QueryValue[] | undefined>>
  readonly body?: unknown
  /** Bytes to send in place of `body`; a header names their media type. */
  readonly octets?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** A form to send in place of `body`. */
  readonly form?: FormData
  /** True if the request must not be repeated after it may have been admitted, because it would do its work twice. */
  readonly once?: boolean
  /** Served by the account service; absent: by the API. */
  readonly origin?: 'account' | undefined
  /** The operation's id, for hooks. */
  readonly operation?: string
  readonly options?: CallOptions | undefined
}

/** A request of one attempt, with the signal that bounds it. */
interface BoundedRequest extends ApiRequest {
  readonly attempt: number
  readonly signal: AbortSignal | undefined
}

interface JsonAnswer {
  readonly status: number
  readonly body: unknown
  readonly text: string
}

export interface TransportSettings {
  readonly baseUrl: URL
  /** Origin of the account service. Default: `baseUrl`. */
  readonly authUrl?: URL
  readonly credential: Credential
  readonly platform: Platform
  readonly retry: RetryPolicy
  readonly requestTimeoutMs: number
  readonly hooks?: Hooks | undefined
}

/** Sends requests with the credential; no other code retries calls. */
export class Transport {
  readonly #settings: TransportSettings

  constructor(settings: TransportSettings) {
    this.#settings = settings
  }

  /**
   * Sends a request, with retries, and reads the whole body; null if the response has none. `text` is the body as it was sent.
   * @throws BerthError, BerthConnectionError, or the reason of the caller's signal
   */
  json(request: ApiRequest): Promise<JsonAnswer> {
    return this.#retrying(request, attempt => this.#exchange(request, attempt))
  }

  /**
   * Sends a request, with retries, and returns the response with its body unread; only the wait for its head is limited.
   * @throws BerthError, BerthConnectionError, or the reason of the caller's signal
   */
  response(request: ApiRequest): Promise<Response> {
    return this.#retrying(request, attempt => this.#head(request, attempt))
  }

  async #retrying<T>(request: ApiRequest, work: (attempt: number) => Promise<T>): Promise<T> {
    const { platform, hooks } = this.#settings
    const signal = request.options?.signal
    const retry = { ...this.#settings.retry, ...request.options?.retry }
    for (let failures = 1; ; failures++) {
      try {
        return await work(failures)
      } catch (failure) {
        signal?.throwIfAborted()
        const delayMs = mayRepeat(request, failure) ? retryDelayMs(failure, failures, retry, platform.random()) : null
        if (delayMs === null) throw failure
        const { method, operation } = request
        hooks?.onRetry?.({ operation, method, url: this.#url(request).href, attempt: failures, failure, delayMs })
        await platform.sleep(delayMs, signal)
      }
    }
  }

  async #open(request: BoundedRequest): Promise<Response> {
    const response = await this.#send(request, false)
    if (response.ok || response.status === 304) return response
    const refusal = await this.#refusal(request, response)
    if (!this.#mayRenew(request, refusal)) throw refusal
    const second = await this.#send(request, true)
    if (second.ok) return second
    throw await this.#refusal(request, second)
  }

  #exchange(request: ApiRequest, attempt: number): Promise<JsonAnswer> {
    const { platform, requestTimeoutMs } = this.#settings
    const ms = request.options?.timeoutMs ?? requestTimeoutMs
    const timeout = () => new BerthConnectionError(this.#url(request).href, `no answer in ${ms} ms`)
    return withDeadline(platform, { ms, parent: request.options?.signal, timeout }, async signal => {
      const bounded = { ...request, attempt, signal }
      const response = await this.#open(bounded)
      const text = await this.#receive(bounded, () => response.text())
      if (text === '') return { status: response.status, body: null, text }
      const body = readObject(text)
      if (body === null)
        throw new BerthConnectionError(this.#url(request).href, 'the response did not come from the service')
      return { status: response.status, body, text }
    })
  }

  /** Waits for the head of a response within the deadline; the body stays bound to the caller's signal alone. */
  async #head(request: ApiRequest, attempt: number): Promise<Response> {
    const { platform, requestTimeoutMs } = this.#settings
    const ms = request.options?.timeoutMs ?? requestTimeoutMs
    const { controller } = linkedController(request.options?.signal)
    const timeout = () => new BerthConnectionError(this.#url(request).href, `no answer in ${ms} ms`)
    const disarm = abortAfter(platform, ms, controller, timeout)
    try {
      return await this.#open({ ...request, attempt, signal: controller.signal })
    } finally {
      disarm()
    }
  }

  async #send(request: BoundedRequest, renew: boolean): Promise<Response> {
    const { platform, hooks } = this.#settings
    const credential = request.options?.credential ?? this.#settings.credential
    const bearer = typeof credential === 'string' ? credential : await credential({ renew })
    // Build the headers outside the guarded part: an invalid credential is the caller's mistake, not the network's.
    const headers = new Headers({ accept: 'application/json', ...request.headers, ...request.options?.headers })
    if (request.body !== undefined) headers.set('content-type', 'application/json')
    const init: RequestInit = { method: request.method, headers, cache: 'no-store', signal: request.signal ?? null }
    if (request.body !== undefined) init.body = JSON.stringify(request.body)
    if (request.octets !== undefined) init.body = Uint8Array.from(request.octets)
    if (request.form !== undefined) init.body = request.form
    const url = this.#url(request)
    const { method, operation, attempt } = request
    const about: Attempt = { operation, method, url: url.href, attempt }
    hooks?.onRequest?.(about, headers)
    headers.set('authorization', `Bearer ${bearer}`)
    const sentMs = platform.now()
    let response: Response
    try {
      response = await this.#receive(request, () => platform.fetch(url, init))
    } catch (failure) {
      hooks?.onFailure?.(about, { failure, durationMs: platform.now() - sentMs })
      throw failure
    }
    const requestId = response.headers.get('x-request-id')
    hooks?.onResponse?.(about, { status: response.status, requestId, durationMs: platform.now() - sentMs })
    return response
  }

  /** Converts every kind of connection failure to one error, except an abort by the caller. */
  async #receive<T>(request: BoundedRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      request.signal?.throwIfAborted()
      throw new BerthConnectionError(this.#url(request).href, 'the connection failed', { cause })
    }
  }

  #refusal(request: BoundedRequest, response: Response): Promise<BerthError> {
    return this.#receive(request, () => readRefusal(response, this.#settings.platform.now()))
  }

  /** A refused key stays refused; a token may only have expired. */
  #mayRenew(request: ApiRequest, refusal: BerthError): boolean {
    return (
      typeof (request.options?.credential ?? this.#settings.credential) === 'function' &&
      refusal.code === 'invalid_or_expired_credential'
    )
  }

  #url(request: ApiRequest): URL {
    const { baseUrl: api, authUrl = api } = this.#settings
    const baseUrl = request.origin === 'account' ? authUrl : api
    const prefix = baseUrl.pathname.replace(/\/+$/, '')
    const url = new URL(`${prefix}/${request.path.map(segment).join('/')}`, baseUrl)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (Array.isArray(value)) for (const one of value) url.searchParams.append(name, String(one))
      else if (value !== undefined) url.searchParams.set(name, String(value))
    }
    return url
  }
}

/** A request that must not be repeated is sent again only if the service turned it away at the door. */
function mayRepeat({ once }: ApiRequest, failure: unknown): boolean {
  return once !== true || (failure instanceof BerthError && failure.status === 429)
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
