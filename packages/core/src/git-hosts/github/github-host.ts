import type { Clock } from '@berth/platform/kit/clock.ts'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import { App, Octokit } from 'octokit'
import type { RemoteAccess } from '../../git/remote-access.ts'
import {
  type AccountToken,
  type AccountTokens,
  type GitHost,
  GitHostError,
  type HostBranch,
  type HostCheck,
  type HostPull,
  type HostRepository,
  type HostSigning,
  type HostTalk,
  type MergePullRequest,
  type OpenPullRequest,
  type RepositoryListing,
  type RepositoryRef,
  type UnbornBranch,
} from '../git-host.ts'
import type { HostFollowing } from '../host-following.ts'
import type { HostPeople } from '../host-people.ts'
import { GitHubCalls, type Parameters, toInstallation } from './github-calls.ts'
import { readChecks } from './github-checks.ts'
import { githubSigning } from './github-commits.ts'
import { matches, wholeOf } from './github-errors.ts'
import { githubFollowing } from './github-following.ts'
import { type ReadUrl, readUrlOf } from './github-logs.ts'
import { githubPeople } from './github-people.ts'
import { type GitHubPull, toPull } from './github-pull.ts'
import { githubTalk } from './github-talk.ts'
import { InstallationTokens } from './installation-tokens.ts'

/** A GitHub App, as the deployment registered it. */
export interface GitHubApp {
  readonly appId: string
  readonly privateKey: string
  /** Origin of a GitHub Enterprise Server; unset for github.com. */
  readonly baseUrl?: string
  /** The App as a client of OAuth; unset: people cannot connect accounts of their own. */
  readonly client?: { readonly id: string; readonly secret: string }
  /** Reads logs that lie on other hosts than GitHub; unset: they are not read. */
  readonly readLog?: ReadUrl
}

/** Default bound of one call, its body included. */
const CALL_MS = 15_000
const PUBLIC_URL = 'https://github.com'

type Repository = Awaited<ReturnType<Octokit['rest']['repos']['get']>>['data']
type ListedRepository = Pick<Repository, 'id' | 'full_name' | 'private' | 'default_branch' | 'html_url' | 'clone_url'>

/**
 * GitHub and GitHub Enterprise Server, through an App: an account is an installation of it. Every call addresses
 * repositories by id, so a rename or a transfer changes nothing. Octokit's own retries are off: they would hold a
 * request up for as long as the host likes.
 */
export class GitHubHost implements GitHost, Disposable {
  readonly id: string
  readonly kind = 'github'
  readonly tokens: AccountTokens
  readonly people?: HostPeople
  readonly talk: HostTalk
  readonly following: HostFollowing
  readonly signing: HostSigning
  readonly #api: Octokit
  readonly #app: App
  readonly #tokens: InstallationTokens
  readonly #webUrl: string
  readonly #calls: GitHubCalls

  constructor(app: GitHubApp, clock: Clock, callMs = CALL_MS) {
    const { appId, privateKey, baseUrl, client, readLog } = app
    this.#webUrl = (baseUrl ?? PUBLIC_URL).replace(/\/+$/, '')
    this.id = `github:${new URL(this.#webUrl).host}`
    const defaults = {
      baseUrl: baseUrl === undefined ? 'https://api.github.com' : `${this.#webUrl}/api/v3`,
      retry: { enabled: false },
      throttle: { enabled: false },
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    }
    const Client = Octokit.defaults(defaults)
    this.#api = new Client()
    this.#app = new App({ appId, privateKey, Octokit: Client, log: defaults.log })
    this.#tokens = new InstallationTokens(this.#app, clock, callMs)
    this.#calls = new GitHubCalls(this.#api, this.#tokens, clock, callMs)
    if (client !== undefined) {
      const of = { client, webUrl: this.#webUrl, api: this.#api, app: this.#app.octokit, clock }
      this.people = githubPeople(of, (work, signal) =>
        this.#calls.guard(() => work(this.#calls.bounded(signal)), signal),
      )
    }
    const call = <Body>(account: string, route: string, parameters: Parameters, signal?: AbortSignal): Promise<Body> =>
      this.#calls.call(account, route, parameters, signal)
    this.talk = githubTalk(appId, call)
    this.following = githubFollowing({
      calls: this.#calls,
      own: { appId, readBot: signal => this.#readBot(signal) },
      comments: this.talk,
      readUrl: readUrlOf(this.#webUrl, readLog),
      missing: (repository, error, signal) => this.#missing(repository, 'pull', error, signal),
    })
    this.signing = githubSigning(call)
    this.tokens = {
      webUrl: this.#webUrl,
      mint: (account, repositoryIds, signal) => {
        const bounded = this.#calls.bounded(signal)
        const mint = () => this.#tokens.mintForSandbox(String(toInstallation(account)), repositoryIds, bounded)
        return this.#calls.guard(() => orAborted(mint(), bounded), signal)
      },
      revoke: (token, signal) => this.#revoke(token, signal),
    }
  }

  async #readBot(signal?: AbortSignal): Promise<string> {
    const read = () => this.#app.octokit.request('GET /app', { request: { signal: this.#calls.bounded(signal) } })
    return `${wholeOf((await this.#calls.guard(read, signal)).data)?.slug}[bot]`
  }

  async readAccount(account: string, signal?: AbortSignal): Promise<string> {
    const read = () =>
      this.#app.octokit.request('GET /app/installations/{installation_id}', {
        installation_id: toInstallation(account),
        request: { signal: this.#calls.bounded(signal) },
      })
    const { account: owner } = wholeOf((await this.#calls.guard(read, signal)).data)
    return owner === null ? account : 'login' in owner ? owner.login : owner.slug
  }

  async listRepositories(
    account: string,
    { limit, from }: { readonly limit: number; readonly from: string | null },
    signal?: AbortSignal,
  ): Promise<RepositoryListing> {
    const page = from === null ? 1 : Number(from)
    const { repositories, total_count: total } = await this.#calls.call<{
      repositories: ListedRepository[]
      total_count: number
    }>(account, 'GET /installation/repositories', { per_page: limit, page }, signal)
    return { repositories: repositories.map(toRepository), next: page * limit < total ? String(page + 1) : null }
  }

  async readRepository({ account, repositoryId }: RepositoryRef, signal?: AbortSignal): Promise<HostRepository> {
    return toRepository(await this.#read({ account, repositoryId }, signal))
  }

  async readBranch(ref: RepositoryRef, branch: string, signal?: AbortSignal): Promise<HostBranch> {
    try {
      const found = await this.#calls.call<{ name: string; commit: { sha: string }; protected: boolean }>(
        ref.account,
        `GET /repositories/${ref.repositoryId}/branches/{branch}`,
        { branch },
        signal,
      )
      // GitHub answers a renamed branch under its new name; the requested one does not exist.
      if (found.name !== branch) throw new GitHostError('not_found', 'the branch was renamed', { subject: 'branch' })
      return { name: found.name, oid: found.commit.sha, protected: found.protected }
    } catch (error) {
      throw await this.#missing(ref, 'branch', error, signal)
    }
  }

  async readUnbornBranch(ref: RepositoryRef, _branch: string, signal?: AbortSignal): Promise<UnbornBranch | null> {
    const [first] = await this.listBranches(ref, { prefix: '', limit: 1 }, signal)
    // GitHub tells no protection of a branch that does not exist; it refuses the push.
    return first === undefined ? { protected: false, objectFormat: 'sha1' } : null
  }

  async listBranches(
    ref: RepositoryRef,
    names: { readonly prefix: string; readonly limit: number },
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    try {
      return await this.#listBranches(ref, names, signal)
    } catch (error) {
      // So GitHub answers for refs of a repository without a commit.
      if (error instanceof GitHostError && error.kind === 'conflict' && matches(error, /repository is empty/i))
        return []
      throw error
    }
  }

  async #listBranches(
    { account, repositoryId }: RepositoryRef,
    { prefix, limit }: { readonly prefix: string; readonly limit: number },
    signal: AbortSignal | undefined,
  ): Promise<readonly string[]> {
    const at = `GET /repositories/${repositoryId}`
    if (prefix === '') {
      const found = await this.#calls.call<{ name: string }[]>(account, `${at}/branches`, { per_page: limit }, signal)
      return found.map(({ name }) => name)
    }
    const path = prefix.split('/').map(encodeURIComponent).join('/')
    const refs = await this.#calls.call<{ ref: string }[]>(account, `${at}/git/matching-refs/heads/${path}`, {}, signal)
    // Octokit drops a slash at the end of a path, so GitHub may have been asked for less.
    const names = refs.map(({ ref }) => ref.slice('refs/heads/'.length)).filter(name => name.startsWith(prefix))
    return names.slice(0, limit)
  }

  async access(ref: RepositoryRef, right: 'read' | 'write', signal?: AbortSignal): Promise<RemoteAccess> {
    const { clone_url: url } = await this.#read(ref, signal)
    const scope = { installation: ref.account, repository: { id: ref.repositoryId, contents: right } }
    const token = await this.#calls.guard(() => orAborted(this.#tokens.get(scope), this.#calls.bounded(signal)), signal)
    return { url, authorization: `Basic ${token.basic}`, expiresAt: token.expiresAt }
  }

  async findOpenPull(
    ref: RepositoryRef,
    { head, base }: { readonly head: string; readonly base: string },
    signal?: AbortSignal,
  ): Promise<HostPull | null> {
    const [owner = ''] = (await this.readRepository(ref, signal)).fullName.split('/')
    const query = { state: 'open', head: `${owner}:${head}`, base, per_page: 1 }
    const [found] = await this.#calls.call<GitHubPull[]>(
      ref.account,
      `GET /repositories/${ref.repositoryId}/pulls`,
      query,
      signal,
    )
    return found === undefined ? null : toPull(found)
  }

  async openPull(ref: RepositoryRef, pull: OpenPullRequest, signal?: AbortSignal): Promise<HostPull> {
    try {
      return toPull(
        await this.#calls.call<GitHubPull>(
          ref.account,
          `POST /repositories/${ref.repositoryId}/pulls`,
          { ...pull },
          signal,
        ),
      )
    } catch (error) {
      if (
        !(error instanceof GitHostError) ||
        error.kind !== 'invalid' ||
        !matches(error, /pull request already exists/i)
      )
        throw error
      throw new GitHostError('conflict', 'a pull request is open for these branches', { cause: error })
    }
  }

  async readPull(ref: RepositoryRef, number: number, signal?: AbortSignal): Promise<HostPull> {
    try {
      const route = `GET /repositories/${ref.repositoryId}/pulls/${number}`
      return toPull(await this.#calls.call<GitHubPull>(ref.account, route, {}, signal))
    } catch (error) {
      throw await this.#missing(ref, 'pull', error, signal)
    }
  }

  async describePull(ref: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<void> {
    const route = `PATCH /repositories/${ref.repositoryId}/pulls/${number}`
    await this.#calls.call(ref.account, route, { body }, signal)
  }

  readChecks(
    { account, repositoryId }: RepositoryRef,
    pull: Pick<HostPull, 'headOid' | 'baseBranch'>,
    signal?: AbortSignal,
  ): Promise<HostCheck[] | null> {
    return readChecks(
      (route, parameters) => this.#calls.call(account, route, { ...parameters }, signal),
      repositoryId,
      pull,
    )
  }

  async mergePull(
    ref: RepositoryRef,
    merge: MergePullRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly mergeCommitOid: string }> {
    const { number, strategy, expectedHeadOid, commitTitle, commitMessage } = merge
    const body = {
      sha: expectedHeadOid,
      merge_method: strategy,
      ...(strategy !== 'rebase' && commitTitle !== undefined && { commit_title: commitTitle }),
      ...(strategy !== 'rebase' && commitMessage !== undefined && { commit_message: commitMessage }),
    }
    try {
      const route = `PUT /repositories/${ref.repositoryId}/pulls/${number}/merge`
      const { sha } = await this.#calls.call<{ sha: string }>(ref.account, route, body, signal)
      return { mergeCommitOid: sha }
    } catch (error) {
      if (!(error instanceof GitHostError) || error.kind !== 'conflict') throw error
      throw new GitHostError('head_moved', 'the head is another commit', { cause: error })
    }
  }

  [Symbol.dispose](): void {
    this.#tokens[Symbol.dispose]()
  }

  async #read({ account, repositoryId }: RepositoryRef, signal?: AbortSignal): Promise<Repository> {
    const repository = await this.#calls.call<Repository>(account, `GET /repositories/${repositoryId}`, {}, signal)
    this.#requireOwnUrl(repository.clone_url)
    return repository
  }

  /**
   * Requires that `clone_url` lies where the operator said that the host is, because git goes there with a token. Git
   * would also take a path of this machine, and another origin would get the token.
   * @throws GitHostError `invalid`
   */
  #requireOwnUrl(cloneUrl: string): void {
    const { origin } = new URL(this.#webUrl)
    // Compared with its parsed form: a URL with user info, another port or an odd spelling does not begin like this.
    const parsed = URL.parse(cloneUrl)
    if (parsed?.href === cloneUrl && cloneUrl.startsWith(`${origin}/`) && `${parsed.search}${parsed.hash}` === '')
      return
    const shown = JSON.stringify(String(cloneUrl).slice(0, 200))
    throw new GitHostError(
      'invalid',
      `the host's clone URL ${shown} is not below ${origin}, its baseUrl: correct the baseUrl in gitHosts`,
    )
  }

  /**
   * Returns the error for a missing branch or pull request, unless the repository itself is missing or hidden: the host
   * answers both alike.
   */
  async #missing(
    ref: RepositoryRef,
    subject: 'branch' | 'pull',
    error: unknown,
    signal?: AbortSignal,
  ): Promise<unknown> {
    if (!(error instanceof GitHostError) || error.kind !== 'not_found') return error
    await this.readRepository(ref, signal)
    return new GitHostError('not_found', `no such ${subject}`, { subject, cause: error })
  }

  async #revoke({ value }: AccountToken, signal: AbortSignal): Promise<void> {
    const headers = { authorization: `token ${value}` }
    const request = { signal: this.#calls.bounded(signal) }
    try {
      await this.#calls.guard(() => this.#api.request('DELETE /installation/token', { headers, request }), signal)
    } catch (error) {
      if (!(error instanceof GitHostError) || error.kind !== 'unauthorized') throw error
    }
  }
}

function toRepository(repository: ListedRepository): HostRepository {
  return {
    repositoryId: String(repository.id),
    fullName: repository.full_name,
    private: repository.private,
    defaultBranch: repository.default_branch === '' ? null : repository.default_branch,
    htmlUrl: repository.html_url,
    cloneUrl: repository.clone_url,
  }
}
