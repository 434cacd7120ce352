import { openAssertionKey, type SignAssertion } from './assertion.ts'
import { withDeadline } from './deadline.ts'
import { BerthConnectionError, BerthError, readRefusal } from './error.ts'
import { defaultPlatform, type Platform } from './platform.ts'

export interface InstallationTokenOptions {
  /** Origin of the account service, with a path prefix if a proxy adds one. */
  readonly authUrl: string | URL
  /** What assertions are for. Default: `/oidc` at `authUrl`. */
  readonly issuer?: string
  readonly appSlug: string
  /** The app's Ed25519 private key as PKCS #8 PEM. Its public half is registered with the app. */
  readonly privateKey: string
  /** The id that the registration returned. Default: the key's RFC 7638 thumbprint, which is the same. */
  readonly kid?: string
  readonly installationId: string
  /** `svc-cloud` for the API and the AI gateway, `svc-ai` for the gateway alone. */
  readonly resourceAudience: string
  /** Consent that the tokens are bound to: they end with the membership of whoever gave it. */
  readonly setupAuthorityId?: string
  /** Replaces parts of the platform, for example `fetch` in a test. */
  readonly platform?: Partial<Platform>
}

/** Returns a token that holds. With `renew` the service has refused the last one. */
export type InstallationTokens = (wanted?: { readonly renew: boolean }) => Promise<string>

interface Held {
  readonly token: string
  readonly sinceMs: number
  readonly endsAtMs: number
}

/** A token is renewed so long before its end. It still serves while the renewal is under way. */
const aheadMs = 60_000
/** After a renewal ahead of time has failed, the next one waits so long. */
const pauseMs = 5_000
/** A refusal that comes so soon after a renewal is of the token before it. */
const youngMs = 2_000
const exchangeTimeoutMs = 30_000

/**
 * Creates the tokens of one installation, for the backend of an app: it signs an assertion, exchanges it for a token and
 * keeps the token until shortly before its end. Requests at one moment share one exchange. The result is a credential for
 * `createClient`, which asks for a renewal once after a 401.
 *
 * The call that needs an exchange throws its BerthError or BerthConnectionError.
 */
export function createInstallationTokens(options: InstallationTokenOptions): InstallationTokens {
  const tokens = new Tokens(options)
  return wanted => tokens.get(wanted?.renew === true)
}

class Tokens {
  readonly #options: InstallationTokenOptions
  readonly #platform: Platform
  readonly #url: string
  #key: Promise<SignAssertion> | null = null
  #held: Held | null = null
  #renewing: Promise<Held> | null = null
  #pausedUntilMs = 0
  /** How far the service's clock is ahead of this one's. */
  #serviceAheadMs = 0

  constructor(options: InstallationTokenOptions) {
    this.#options = options
    this.#platform = { ...defaultPlatform, ...options.platform }
    this.#url = below(options.authUrl, '/auth/app-installation-token')
  }

  async get(renew: boolean): Promise<string> {
    const held = this.#held
    const nowMs = this.#platform.now()
    const serves = held !== null && held.endsAtMs > nowMs && (!renew || nowMs - held.sinceMs < youngMs)
    if (!serves) return (await this.#renew()).token
    if (held.endsAtMs - nowMs < aheadMs && nowMs >= this.#pausedUntilMs) {
      // The token in hand still serves. If the service stays away until its end, the caller of that moment hears of it.
      this.#renew().catch(() => {
        this.#pausedUntilMs = this.#platform.now() + pauseMs
      })
    }
    return held.token
  }

  #renew(): Promise<Held> {
    this.#renewing ??= this.#exchange().finally(() => {
      this.#renewing = null
    })
    return this.#renewing
  }

  /** Exchanges an assertion. After a 401 it tries again with the clock that the refusal told, and only once. */
  async #exchange(): Promise<Held> {
    try {
      this.#held = await this.#ask()
    } catch (failure) {
      if (!(failure instanceof BerthError) || failure.status !== 401) throw failure
      this.#held = await this.#ask()
    }
    return this.#held
  }

  async #ask(): Promise<Held> {
    const { appSlug, issuer, kid, privateKey, authUrl } = this.#options
    this.#key ??= openAssertionKey(privateKey, { appSlug, kid, issuer: issuer ?? below(authUrl, '/oidc') })
    const sign = await this.#key
    const sinceMs = this.#platform.now()
    const assertion = await sign(sinceMs + this.#serviceAheadMs)
    const timeout = () => new BerthConnectionError(this.#url, `no answer in ${exchangeTimeoutMs} ms`)
    const limit = { ms: exchangeTimeoutMs, parent: undefined, timeout }
    const response = await withDeadline(this.#platform, limit, signal => this.#send(assertion, signal))
    if (!response.ok) throw await readRefusal(response, this.#platform.now())
    const issued = readToken(await response.text())
    if (issued === null) throw new BerthConnectionError(this.#url, 'the response did not come from the service')
    return { token: issued.token, sinceMs, endsAtMs: sinceMs + issued.expiresIn * 1000 }
  }

  /** Sends an assertion and reads the whole response, because the deadline ends with this call. */
  async #send(assertion: string, signal: AbortSignal): Promise<Response> {
    const { installationId, resourceAudience, setupAuthorityId } = this.#options
    const body = JSON.stringify({ assertion, installationId, resourceAudience, setupAuthorityId })
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    try {
      const response = await this.#platform.fetch(this.#url, {
        ...{ method: 'POST', headers, body, signal },
        ...{ cache: 'no-store', redirect: 'error' },
      })
      this.#learnClock(response.headers.get('date'))
      const { status } = response
      return new Response(await response.text(), { status, headers: response.headers })
    } catch (cause) {
      if (signal.reason instanceof BerthConnectionError) throw signal.reason
      throw new BerthConnectionError(this.#url, 'the connection failed', { cause })
    }
  }

  /** Learns the service's clock, which decides whether an assertion is timely. */
  #learnClock(date: string | null): void {
    const serviceMs = Date.parse(date ?? '')
    if (!Number.isNaN(serviceMs)) this.#serviceAheadMs = serviceMs - this.#platform.now()
  }
}

const below = (base: string | URL, path: string): string => String(base).replace(/\/+$/, '') + path

function readToken(text: string): { readonly token: string; readonly expiresIn: number } | null {
  try {
    const { token, expiresIn } = Object(JSON.parse(text))
    return typeof token === 'string' && typeof expiresIn === 'number' ? { token, expiresIn } : null
  } catch {
    return null
  }
}
