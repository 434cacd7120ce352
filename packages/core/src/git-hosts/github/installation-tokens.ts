import type { Clock } from '@berth/platform/kit/clock.ts'
import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import type { App } from 'octokit'
import type { AccountToken } from '../git-host.ts'
import { wholeOf } from './github-errors.ts'

/** The rights of a token. */
export interface TokenScope {
  readonly installation: string
  /** One repository and git's right there; unset for the API, with all rights of the app. */
  readonly repository?: { readonly id: string; readonly contents: 'read' | 'write' }
}

/** What a token may do, in the words of GitHub's interface. */
interface TokenGrant {
  readonly repository_ids?: number[]
  readonly permissions: { contents: 'read' | 'write'; pull_requests?: 'write'; metadata: 'read' }
}

/** Time before its expiry from which a token is not used: work that begins with it must end before it expires. */
const MARGIN_MS = 5 * 60_000

interface Kept {
  readonly token: Promise<AccountToken>
  /** Null while it is being minted. */
  goodUntil: number | null
}

/**
 * Keeps installation tokens until shortly before they expire, one for each scope. A caller that asks while one is being
 * minted gets that one.
 */
export class InstallationTokens implements Disposable {
  readonly #app: App
  readonly #clock: Clock
  readonly #mintMs: number
  readonly #kept = new Map<string, Kept>()
  readonly #secrets = new Map<string, Disposable>()

  constructor(app: App, clock: Clock, mintMs: number) {
    this.#app = app
    this.#clock = clock
    this.#mintMs = mintMs
  }

  get(scope: TokenScope): Promise<AccountToken> {
    const key = JSON.stringify([scope.installation, scope.repository?.id, scope.repository?.contents])
    const kept = this.#kept.get(key)
    if (kept !== undefined && (kept.goodUntil === null || kept.goodUntil > this.#clock.now().getTime())) {
      return kept.token
    }
    const minting: Kept = { token: this.#mint(scope), goodUntil: null }
    this.#kept.set(key, minting)
    minting.token.then(
      ({ value, basic, expiresAt }) => {
        minting.goodUntil = expiresAt.getTime() - MARGIN_MS
        this.#secrets.get(key)?.[Symbol.dispose]()
        this.#secrets.set(key, knownSecrets.add(value, basic))
      },
      () => this.#kept.get(key) === minting && this.#kept.delete(key),
    )
    return minting.token
  }

  /** Forgets the tokens of an installation, after the host has refused one before its time. */
  forget(installation: string): void {
    for (const key of this.#kept.keys()) if (JSON.parse(key)[0] === installation) this.#kept.delete(key)
  }

  [Symbol.dispose](): void {
    for (const secret of this.#secrets.values()) secret[Symbol.dispose]()
  }

  /**
   * Mints a token for processes of a sandbox: contents and pull requests, nothing else. It is not kept.
   * @param repositoryIds null for all repositories of the installation
   */
  mintForSandbox(
    installation: string,
    repositoryIds: readonly string[] | null,
    signal: AbortSignal,
  ): Promise<AccountToken> {
    return this.#request(installation, signal, {
      ...(repositoryIds !== null && { repository_ids: repositoryIds.map(Number) }),
      permissions: { contents: 'write', pull_requests: 'write', metadata: 'read' },
    })
  }

  /** Mints a token. The request that asked does not end it, because others may wait for the same token. */
  #mint({ installation, repository }: TokenScope): Promise<AccountToken> {
    return this.#request(
      installation,
      AbortSignal.timeout(this.#mintMs),
      repository && {
        repository_ids: [Number(repository.id)],
        permissions: { contents: repository.contents, metadata: 'read' },
      },
    )
  }

  async #request(installation: string, signal: AbortSignal, grant?: TokenGrant): Promise<AccountToken> {
    const { data } = await this.#app.octokit.request('POST /app/installations/{installation_id}/access_tokens', {
      installation_id: Number(installation),
      ...grant,
      request: { signal },
    })
    const { token: value, expires_at: expiry } = wholeOf(data)
    const basic = Buffer.from(`x-access-token:${value}`).toString('base64')
    return { value, basic, expiresAt: new Date(expiry) }
  }
}
