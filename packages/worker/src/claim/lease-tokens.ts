import { type AccountToken, type AccountTokens, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { CredentialRefusal, type TokenAccount } from './git-credential.ts'

/** A token that is handed out is good for at least this long. */
const LEAST_MS = 10 * 60_000
/** The most repositories that GitHub narrows a token to. */
const MAX_REPOSITORIES = 500

/** A host's refusal of a younger token is not believed: a sandbox could have tokens minted without end. */
const DISTRUST_MS = 60_000
/** A host that has refused a token is asked again after this long: such requests count against all of its tenants. */
const REFUSED_MS = 30_000

/** Times are milliseconds of the clock. */
interface Kept {
  /** The repositories that it was minted for. */
  readonly scope: string
  readonly token: Promise<AccountToken>
  readonly mintedAt: number
  /** Null while it is being minted; until then the answer stands, be it a token or a refusal. */
  goodUntil: number | null
}

/** The tokens that one sandbox is given now, one for each account, in memory alone. */
export class LeaseTokens {
  readonly #clock: Clock
  readonly #mintMs: number
  /** By id of the connection. */
  readonly #kept = new Map<string, Kept>()
  readonly #issued: IssuedTokens

  /**
   * @param issued gets every token
   * @param mintMs longest that a host may take
   */
  constructor(clock: Clock, issued: IssuedTokens, mintMs: number) {
    this.#clock = clock
    this.#issued = issued
    this.#mintMs = mintMs
  }

  /**
   * Returns a token of an account, narrowed to the granted repositories. Callers who come together share one.
   * @param first names (`owner/name`) that are kept if there are more repositories than a token can name
   * @throws CredentialRefusal if the host refuses, or gives none in time
   */
  async get(account: TokenAccount, first: readonly string[]): Promise<AccountToken> {
    const repositories = account.whole ? null : narrowed(account, first)
    const scope = JSON.stringify(repositories)
    const kept = this.#kept.get(account.id)
    const good = kept !== undefined && (kept.goodUntil === null || kept.goodUntil > this.#clock.now().getTime())
    try {
      return await (good && kept.scope === scope ? kept.token : this.#mint(account, repositories, scope))
    } catch (error) {
      if (error instanceof GitHostError && !error.passing)
        throw new CredentialRefusal(403, `the Git host refuses a token of ${account.login}`, { cause: error })
      throw new CredentialRefusal(503, `the Git host gave no token of ${account.login} in time; try again`, {
        cause: error,
      })
    }
  }

  /** Forgets the token of an account, after the host has refused it before its time. */
  forget({ id }: TokenAccount): void {
    const { mintedAt = 0 } = this.#kept.get(id) ?? {}
    if (this.#clock.now().getTime() - mintedAt >= DISTRUST_MS) this.#kept.delete(id)
  }

  #mint({ id, account, tokens }: TokenAccount, repositories: readonly string[] | null, scope: string) {
    const minting: Kept = {
      scope,
      token: tokens.mint(account, repositories, AbortSignal.timeout(this.#mintMs)),
      mintedAt: this.#clock.now().getTime(),
      goodUntil: null,
    }
    this.#kept.set(id, minting)
    minting.token.then(
      token => {
        minting.goodUntil = token.expiresAt.getTime() - LEAST_MS
        this.#issued.add(token, tokens)
      },
      error => {
        if (error instanceof GitHostError && !error.passing)
          minting.goodUntil = this.#clock.now().getTime() + REFUSED_MS
        else if (this.#kept.get(id) === minting) this.#kept.delete(id)
      },
    )
    return minting.token
  }
}

function narrowed({ repositories }: TokenAccount, first: readonly string[]): string[] {
  const wanted = new Set(first.map(name => name.toLowerCase()))
  const isWanted = ({ fullName }: { readonly fullName: string }) => wanted.has(fullName.toLowerCase())
  const ordered = [...repositories.filter(isWanted), ...repositories.filter(one => !isWanted(one))]
  return ordered.slice(0, MAX_REPOSITORIES).map(({ id }) => id)
}

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
