import { openAssertionKey, type SignAssertion } from './assertion.ts'
import { withDeadline } from './deadline.ts'
import { BerthConnectionError, BerthError, readRefusal } from './error.ts'
import { defaultPlatform, type Platform } from './platform.ts'

/** An app, as its backend names itself to the account service. */
export interface AppOptions {
  /** Origin of the account service, with a path prefix if a proxy adds one. */
  readonly authUrl: string | URL
  /** The audience of assertions. Default: `/oidc` at `authUrl`. */
  readonly issuer?: string
  readonly appSlug: string
  /** The app's Ed25519 private key as PKCS #8 PEM. Its public half is registered with the app. */
  readonly privateKey: string
  /** The id that the registration returned. Default: the key's RFC 7638 thumbprint, which is the same. */
  readonly kid?: string
  /** Replaces parts of the platform, for example `fetch` in a test. */
  readonly platform?: Partial<Platform>
}

const timeoutMs = 30_000

/** Calls the account service with assertions of an app, dated by the service's clock. */
export class AppCalls {
  readonly platform: Platform
  readonly #options: AppOptions
  #key: Promise<SignAssertion> | null = null
  /** How far the service's clock is ahead of this one's. */
  #serviceAheadMs = 0

  constructor(options: AppOptions) {
    this.#options = options
    this.platform = { ...defaultPlatform, ...options.platform }
  }

  /**
   * Posts a body with an assertion, and returns the result of `read` for the response. After a 401 it tries once more, with
   * the clock that the refusal told.
   * @param read returns null if the body is not the operation's
   * @throws BerthError if the service refuses, BerthConnectionError if no complete response of it arrives
   */
  async post<T>(path: string, body: object, read: (response: Record<string, unknown>) => T | null): Promise<T> {
    try {
      return await this.#ask(path, body, read)
    } catch (failure) {
      if (!(failure instanceof BerthError) || failure.status !== 401) throw failure
      return this.#ask(path, body, read)
    }
  }

  async #ask<T>(path: string, body: object, read: (response: Record<string, unknown>) => T | null): Promise<T> {
    const { appSlug, issuer, kid, privateKey, authUrl } = this.#options
    this.#key ??= openAssertionKey(privateKey, { appSlug, kid, issuer: issuer ?? below(authUrl, '/oidc') })
    const sign = await this.#key
    const assertion = await sign(this.platform.now() + this.#serviceAheadMs)
    const url = below(authUrl, path)
    const timeout = () => new BerthConnectionError(url, `no answer in ${timeoutMs} ms`)
    const limit = { ms: timeoutMs, parent: undefined, timeout }
    const response = await withDeadline(this.platform, limit, signal => this.#send(url, { assertion, ...body }, signal))
    if (!response.ok) throw await readRefusal(response, this.platform.now())
    const found = read(readObject(await response.text()))
    if (found === null) throw new BerthConnectionError(url, 'the response did not come from the service')
    return found
  }

  /** Sends a body and reads the whole response, because the deadline ends with this call. */
  async #send(url: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    try {
      const response = await this.platform.fetch(url, {
        ...{ method: 'POST', headers, body: JSON.stringify(body), signal },
        ...{ cache: 'no-store', redirect: 'error' },
      })
      this.#learnClock(response.headers.get('date'))
      const { status } = response
      return new Response(await response.text(), { status, headers: response.headers })
    } catch (cause) {
      if (signal.reason instanceof BerthConnectionError) throw signal.reason
      throw new BerthConnectionError(url, 'the connection failed', { cause })
    }
  }

  /** Learns the service's clock, which decides whether an assertion is timely. */
  #learnClock(date: string | null): void {
    const serviceMs = Date.parse(date ?? '')
    if (!Number.isNaN(serviceMs)) this.#serviceAheadMs = serviceMs - this.platform.now()
  }
}

const below = (base: string | URL, path: string): string => String(base).replace(/\/+$/, '') + path

function readObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
