import type { AccountToken, AccountTokens } from '../../git-hosts/git-host.ts'
import type { Clock } from '../../kit/clock.ts'
import { knownSecrets } from '../../kit/redactor.ts'

/** Longest that the revocation of all tokens of a Run may take. */
const REVOKE_MS = 30_000
/** Requests to hosts at once, so that the end of a Run with many accounts is no burst. */
const AT_ONCE = 4

interface Issued {
  readonly token: AccountToken
  readonly tokens: AccountTokens
}

/** The tokens that one Run's sandboxes were given, also those that younger ones have replaced, in memory alone. */
export class IssuedTokens implements Disposable {
  readonly #clock: Clock
  readonly #secrets = new DisposableStack()
  #issued: Issued[] = []
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Keeps a token to revoke it. One that a host mints only after the end was delivered to nobody and is revoked now. */
  add(token: AccountToken, tokens: AccountTokens): void {
    if (this.#ended) return void tokens.revoke(token, AbortSignal.timeout(REVOKE_MS)).catch(() => undefined)
    this.#issued = [...this.#valid(), { token, tokens }]
    this.#secrets.use(knownSecrets.add(token.value, token.basic))
  }

  /**
   * Revokes at their hosts all that have not expired, and forgets them.
   * @returns the errors of those that a host did not revoke in time; they expire within the hour
   */
  async revoke(): Promise<readonly unknown[]> {
    this.#ended = true
    const left = this.#valid()
    const signal = AbortSignal.timeout(REVOKE_MS)
    const errors: unknown[] = []
    const work = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop())
        await next.tokens.revoke(next.token, signal).catch(error => errors.push(error))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    this[Symbol.dispose]()
    return errors
  }

  [Symbol.dispose](): void {
    this.#ended = true
    this.#issued = []
    this.#secrets.dispose()
  }

  #valid(): Issued[] {
    const now = this.#clock.now()
    return this.#issued.filter(({ token }) => token.expiresAt > now)
  }
}
