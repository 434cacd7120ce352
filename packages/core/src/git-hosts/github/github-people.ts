import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Octokit } from 'octokit'
import { GitHostError } from '../git-host.ts'
import type { HostPeople, PersonAccount, PersonTokens } from '../host-people.ts'
import { wholeOf } from './github-errors.ts'

/** The App as a client of OAuth, and the ways to its host. */
interface PeopleOf {
  readonly client: { readonly id: string; readonly secret: string }
  /** Without a slash at its end. */
  readonly webUrl: string
  /** Without a credential. */
  readonly api: Octokit
  /** With that of the App. */
  readonly app: Octokit
  readonly clock: Clock
}

/** Bounds a call in time, and turns what it throws into a `GitHostError`. */
type Guard = <T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal) => Promise<T>

interface Installation {
  readonly id: number
  readonly account: { readonly id: number; readonly login?: string; readonly slug?: string } | null
  readonly target_type: string
  readonly repository_selection: 'all' | 'selected'
  readonly suspended_at?: string | null
}

/** A person's place in an organization. */
interface Membership {
  readonly state: string
  readonly role: string
  readonly organization: { readonly id: number }
}

/** Items of a list asked for at once, and the most pages of them. */
const PAGE = 100
const MAX_PAGES = 10

/**
 * Acts for people by user tokens of a GitHub App. Access to an installation is not enough to connect it: a reader of one
 * repository has that. So each account is judged by GitHub's own word: one's own, or an organization that one administers.
 */
export function githubPeople({ client, webUrl, api, app, clock }: PeopleOf, guard: Guard): HostPeople {
  const asPerson = <Body>(access: string, route: string, parameters: object, signal?: AbortSignal): Promise<Body> =>
    guard(async bounded => {
      const headers = { authorization: `token ${access}` }
      const { data } = await api.request(route, { ...parameters, headers, request: { signal: bounded } })
      return wholeOf(data as Body)
    }, signal)

  const grant = (parameters: object, signal?: AbortSignal): Promise<PersonTokens> =>
    guard(async bounded => {
      const { data } = await api.request('POST /login/oauth/access_token', {
        baseUrl: webUrl,
        client_id: client.id,
        client_secret: client.secret,
        ...parameters,
        headers: { accept: 'application/json' },
        request: { signal: bounded },
      })
      return toTokens(wholeOf(data), clock.now())
    }, signal)

  const listPages = async <Body, Item>(
    access: string,
    route: string,
    itemsOf: (body: Body) => readonly Item[],
    signal?: AbortSignal,
  ): Promise<Item[]> => {
    const found: Item[] = []
    for (let page = 1; page <= MAX_PAGES; page++) {
      const items = itemsOf(await asPerson<Body>(access, route, { per_page: PAGE, page }, signal))
      found.push(...items)
      if (items.length < PAGE) break
    }
    return found
  }

  const listInstallations = async (access: string, signal?: AbortSignal): Promise<Installation[]> => {
    const found = await listPages(
      access,
      'GET /user/installations',
      (body: { installations: Installation[] }) => body.installations,
      signal,
    )
    return found.filter(({ account, suspended_at }) => account !== null && (suspended_at ?? null) === null)
  }

  /** Returns the ids of the organizations that a person administers; none if the App may not read members. */
  const listAdministered = async (access: string, signal?: AbortSignal): Promise<ReadonlySet<number>> => {
    try {
      const found = await listPages(access, 'GET /user/memberships/orgs', (body: Membership[]) => body, signal)
      const administered = found.filter(({ state, role }) => state === 'active' && role === 'admin')
      return new Set(administered.map(({ organization }) => organization.id))
    } catch (error) {
      if (!(error instanceof GitHostError) || (error.kind !== 'forbidden' && error.kind !== 'not_found')) throw error
      return new Set()
    }
  }

  const people: HostPeople = {
    authorizeUrl: ({ state, challenge, redirectUri }) => {
      const url = new URL(`${webUrl}/login/oauth/authorize`)
      url.search = new URLSearchParams({
        client_id: client.id,
        redirect_uri: redirectUri,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        allow_signup: 'false',
      }).toString()
      return url.href
    },

    redeem: ({ code, verifier, redirectUri }, signal) =>
      grant({ code, code_verifier: verifier, redirect_uri: redirectUri }, signal),

    refresh: (token, signal) => grant({ grant_type: 'refresh_token', refresh_token: token }, signal),

    readPerson: async (access, signal) => {
      const { id, login } = await asPerson<{ id: number; login: string }>(access, 'GET /user', {}, signal)
      return { id: String(id), login }
    },

    listAccounts: async (access, signal) => {
      const [person, installations] = await Promise.all([
        people.readPerson(access, signal),
        listInstallations(access, signal),
      ])
      const organizations = installations.some(({ target_type }) => target_type === 'Organization')
        ? await listAdministered(access, signal)
        : new Set<number>()
      return installations.map(({ id, account, target_type, repository_selection }): PersonAccount => {
        const organization = target_type === 'Organization'
        return {
          account: String(id),
          login: account?.login ?? account?.slug ?? String(id),
          kind: organization ? 'organization' : 'person',
          whole: repository_selection === 'all',
          administered: organization ? organizations.has(account?.id ?? 0) : String(account?.id) === person.id,
        }
      })
    },

    rightIn: async (access, repositoryId, signal) => {
      try {
        const { permissions } = await asPerson<{ permissions?: { push?: boolean; pull?: boolean } }>(
          access,
          `GET /repositories/${repositoryId}`,
          {},
          signal,
        )
        return permissions?.push === true ? 'write' : permissions?.pull === true ? 'read' : 'none'
      } catch (error) {
        if (error instanceof GitHostError && (error.kind === 'not_found' || error.kind === 'forbidden')) return 'none'
        throw error
      }
    },

    installUrl: signal =>
      guard(async bounded => {
        const { data } = await app.request('GET /app', { request: { signal: bounded } })
        const slug = wholeOf(data)?.slug
        if (slug === undefined) throw new GitHostError('invalid', 'the host did not say what the App is called')
        const folder = webUrl === 'https://github.com' ? 'apps' : 'github-apps'
        return `${webUrl}/${folder}/${encodeURIComponent(slug)}/installations/new`
      }, signal),

    revoke: async (access, signal) => {
      const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
      try {
        await guard(
          bounded =>
            api.request('DELETE /applications/{client_id}/token', {
              client_id: client.id,
              access_token: access,
              headers: { authorization: `Basic ${basic}` },
              request: { signal: bounded },
            }),
          signal,
        )
      } catch (error) {
        if (!(error instanceof GitHostError) || (error.kind !== 'not_found' && error.kind !== 'invalid')) throw error
      }
    },
  }
  return people
}

/**
 * Reads the answer of the token endpoint, which reports its refusals with status 200.
 * @throws GitHostError `unauthorized` if the code or token is not taken, `forbidden` if the App's own secret is not
 */
function toTokens(data: unknown, now: Date): PersonTokens {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, error } = Object(data)
  if (typeof access === 'string' && access !== '') {
    return {
      access,
      accessEndsAt: typeof seconds === 'number' ? new Date(now.getTime() + seconds * 1000) : null,
      refresh: typeof refresh === 'string' && refresh !== '' ? refresh : null,
    }
  }
  const own = error === 'incorrect_client_credentials' || error === 'redirect_uri_mismatch'
  throw new GitHostError(own ? 'forbidden' : 'unauthorized', `the host gave no token: ${String(error).slice(0, 100)}`)
}
