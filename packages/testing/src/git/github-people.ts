import { createHash, randomUUID } from 'node:crypto'

/** Where the App is installed. */
export interface ServedInstallation {
  readonly id: number
  readonly account: { readonly id: number; readonly login: string; readonly type: 'User' | 'Organization' }
  selection: 'all' | 'selected'
  suspended: boolean
  /** Logins of people who see the installation. */
  readonly seenBy: Set<string>
}

interface UserToken {
  readonly login: string
  readonly endsAt: number
}

/** An answer of the people's side: a status and a body, or a redirect. */
export type PeopleAnswer = { readonly status: number; readonly body?: unknown; readonly location?: string }

const notFound: PeopleAnswer = { status: 404, body: { message: 'Not Found' } }

/** Returns the page of a list that a request asks for. */
function pageOf<T>(items: readonly T[], query: URLSearchParams): T[] {
  const [size, page] = [Number(query.get('per_page') ?? 30), Number(query.get('page') ?? 1)]
  return items.slice((page - 1) * size, page * size)
}

/** The people of a test's GitHub: they sign in by OAuth with PKCE, and administer accounts or do not. */
export class GitHubPeople {
  readonly clientId = 'Iv1.berth'
  readonly clientSecret = 'client-secret-of-the-app-0123456789'
  /** Who sits at the browser; null: they refuse. */
  signedIn: string | null = null
  readonly users = new Map<string, number>()
  readonly installations: ServedInstallation[] = []
  /** Roles in organizations: `<organization>/<login>`. */
  readonly roles = new Map<string, { state: 'active' | 'pending'; role: 'admin' | 'member' }>()
  /** Rights in repositories: `<login>/<repository id>`. */
  readonly rights = new Map<string, { push: boolean; pull: boolean }>()
  /** Life of tokens; null: they do not end. */
  tokenMs: number | null = 8 * 3_600_000
  /** Whether the App may read members of organizations. */
  readsMembers = true
  readonly revoked: string[] = []
  refreshes = 0
  readonly #codes = new Map<string, { login: string; challenge: string; redirectUri: string }>()
  readonly #tokens = new Map<string, UserToken>()
  readonly #refreshTokens = new Map<string, string>()
  #next = 1000

  /** Adds a person. */
  person(login: string): { readonly id: number; readonly login: string } {
    const id = this.users.get(login) ?? this.#next++
    this.users.set(login, id)
    return { id, login }
  }

  /** Installs the App on an account. */
  install(id: number, login: string, type: 'User' | 'Organization', seenBy: readonly string[]): ServedInstallation {
    const account = { id: type === 'User' ? this.person(login).id : this.#next++, login, type }
    const made = { id, account, selection: 'all' as const, suspended: false, seenBy: new Set(seenBy) }
    this.installations.push(made)
    return made
  }

  /** Makes the server forget all tokens of people. */
  forgetTokens(): void {
    this.#tokens.clear()
    this.#refreshTokens.clear()
  }

  /** Makes access tokens end now; those for renewal stay. */
  endTokens(): void {
    this.#tokens.clear()
  }

  knows(token: string): boolean {
    return this.#tokens.has(token)
  }

  /** Answers a request without the credential of the App; null: it is none of people. */
  answer(request: {
    readonly method: string
    readonly path: string
    readonly query: URLSearchParams
    readonly body: Readonly<Record<string, unknown>>
    readonly authorization: string
  }): PeopleAnswer | null {
    const { method, path, query, body, authorization } = request
    if (path === '/login/oauth/authorize') return this.#authorize(query)
    if (path === '/login/oauth/access_token') return { status: 200, body: this.#grant(body) }
    if (method === 'DELETE' && path === `/applications/${this.clientId}/token`) {
      const basic = Buffer.from(authorization.replace(/^basic /i, ''), 'base64').toString()
      if (basic !== `${this.clientId}:${this.clientSecret}`)
        return { status: 401, body: { message: 'Bad credentials' } }
      const token = String(body['access_token'])
      this.revoked.push(token)
      return this.#tokens.delete(token) ? { status: 204 } : notFound
    }
    const token = authorization.replace(/^(token|bearer) /i, '')
    if (!token.startsWith('ghu_')) return null
    const known = this.#tokens.get(token)
    if (known === undefined || known.endsAt < Date.now()) return { status: 401, body: { message: 'Bad credentials' } }
    return this.#asPerson(known.login, path, query)
  }

  #asPerson(login: string, path: string, query: URLSearchParams): PeopleAnswer {
    if (path === '/user') return { status: 200, body: { id: this.users.get(login), login } }
    if (path === '/user/installations') {
      const seen = this.installations.filter(({ seenBy }) => seenBy.has(login))
      const installations = seen.map(({ id, account, selection, suspended }) => ({
        id,
        account,
        target_type: account.type,
        repository_selection: selection,
        suspended_at: suspended ? new Date().toISOString() : null,
      }))
      return {
        status: 200,
        body: { total_count: installations.length, installations: pageOf(installations, query) },
      }
    }
    if (path === '/user/memberships/orgs') {
      if (!this.readsMembers) return { status: 403, body: { message: 'Resource not accessible by integration' } }
      const theirs = [...this.roles].filter(([of]) => of.endsWith(`/${login}`))
      const shown = pageOf(theirs, query).map(([of, role]) => {
        const [organization = ''] = of.split('/')
        const known = this.installations.find(({ account }) => account.login === organization)
        return { ...role, organization: { id: known?.account.id ?? 0, login: organization } }
      })
      return { status: 200, body: shown }
    }
    const [, repository] = path.match(/^\/repositories\/(\d+)$/) ?? []
    const permissions = this.rights.get(`${login}/${repository}`)
    return permissions === undefined ? notFound : { status: 200, body: { id: Number(repository), permissions } }
  }

  #authorize(query: URLSearchParams): PeopleAnswer {
    const redirectUri = query.get('redirect_uri') ?? ''
    if (query.get('client_id') !== this.clientId || query.get('code_challenge_method') !== 'S256') return notFound
    const back = new URL(redirectUri)
    back.searchParams.set('state', query.get('state') ?? '')
    if (this.signedIn === null) back.searchParams.set('error', 'access_denied')
    else {
      const code = randomUUID()
      this.#codes.set(code, { login: this.signedIn, challenge: query.get('code_challenge') ?? '', redirectUri })
      back.searchParams.set('code', code)
    }
    return { status: 302, location: back.href }
  }

  #grant(body: Readonly<Record<string, unknown>>): unknown {
    if (body['client_id'] !== this.clientId || body['client_secret'] !== this.clientSecret)
      return { error: 'incorrect_client_credentials' }
    if (body['grant_type'] === 'refresh_token') {
      const refresh = String(body['refresh_token'])
      const login = this.#refreshTokens.get(refresh)
      this.#refreshTokens.delete(refresh)
      this.refreshes += 1
      return login === undefined ? { error: 'bad_refresh_token' } : this.#issue(login)
    }
    const code = String(body['code'])
    const grant = this.#codes.get(code)
    this.#codes.delete(code)
    const challenge = createHash('sha256').update(String(body['code_verifier'])).digest('base64url')
    if (grant?.challenge !== challenge || grant.redirectUri !== body['redirect_uri'])
      return { error: 'bad_verification_code' }
    return this.#issue(grant.login)
  }

  #issue(login: string): unknown {
    const [access, refresh] = [`ghu_${randomUUID()}`, `ghr_${randomUUID()}`]
    this.#tokens.set(access, {
      login,
      endsAt: this.tokenMs === null ? Number.POSITIVE_INFINITY : Date.now() + this.tokenMs,
    })
    if (this.tokenMs === null) return { access_token: access, token_type: 'bearer' }
    this.#refreshTokens.set(refresh, login)
    return { access_token: access, expires_in: Math.round(this.tokenMs / 1000), refresh_token: refresh }
  }
}
