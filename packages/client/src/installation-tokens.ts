import { AppCalls, type AppOptions } from './app-calls.ts'

export interface InstallationTokenOptions extends AppOptions {
  readonly installationId: string
  /** `svc-cloud` for the API and the AI gateway, `svc-ai` for the gateway alone. */
  readonly resourceAudience: string
  /** Consent that the tokens are bound to: they end with the membership of whoever gave it. */
  readonly setupAuthorityId?: string
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
  readonly #calls: AppCalls
  #held: Held | null = null
  #renewing: Promise<Held> | null = null
  #pausedUntilMs = 0

  constructor(options: InstallationTokenOptions) {
    this.#options = options
    this.#calls = new AppCalls(options)
  }

  async get(renew: boolean): Promise<string> {
    const held = this.#held
    const nowMs = this.#calls.platform.now()
    const serves = held !== null && held.endsAtMs > nowMs && (!renew || nowMs - held.sinceMs < youngMs)
    if (!serves) return (await this.#renew()).token
    if (held.endsAtMs - nowMs < aheadMs && nowMs >= this.#pausedUntilMs) {
      // The token in hand still serves. If the service stays away until its end, the caller of that moment hears of it.
      this.#renew().catch(() => {
        this.#pausedUntilMs = this.#calls.platform.now() + pauseMs
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

  async #exchange(): Promise<Held> {
    const { installationId, resourceAudience, setupAuthorityId } = this.#options
    const body = { installationId, resourceAudience, setupAuthorityId }
    const sinceMs = this.#calls.platform.now()
    const { token, expiresIn } = await this.#calls.post('/auth/app-installation-token', body, readToken)
    this.#held = { token, sinceMs, endsAtMs: sinceMs + expiresIn * 1000 }
    return this.#held
  }
}

function readToken({ token, expiresIn }: Record<string, unknown>): { token: string; expiresIn: number } | null {
  return typeof token === 'string' && typeof expiresIn === 'number' ? { token, expiresIn } : null
}
