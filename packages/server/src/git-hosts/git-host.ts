import type { MergeStrategy } from '@berth/contract'
import type { RemoteAccess } from '../git/remote-access.ts'

/** One repository of a host, by the names that do not change when it is renamed or moved. */
export interface RepositoryRef {
  /** The host's own id of what its grants hang on: an app's installation, a group, an owner. */
  readonly account: string
  /** The host's stable decimal id. */
  readonly repositoryId: string
}

/** What a host says of a repository now (completions, Repositories). */
export interface HostRepository {
  readonly repositoryId: string
  /** `owner/name`, as it is called now. */
  readonly fullName: string
  readonly private: boolean
  /** Null for a repository without a commit. */
  readonly defaultBranch: string | null
  readonly htmlUrl: string
  /** Where anybody with rights of their own clones it from; carries no credential. Null where nobody does. */
  readonly cloneUrl: string | null
}

export interface RepositoryListing {
  readonly repositories: readonly HostRepository[]
  /** Where the next page starts; null where nothing follows. Opaque, of printable ASCII. */
  readonly next: string | null
}

/** The tip of a branch. */
export interface HostBranch {
  readonly name: string
  /** 40 lower-case hex. */
  readonly oid: string
  /** The host refuses some pushes to it. */
  readonly protected: boolean
}

/** A pull request (elsewhere a merge request) as the host has it now. */
export interface HostPull {
  readonly number: number
  readonly url: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
  readonly state: 'open' | 'merged' | 'closed'
  readonly headBranch: string
  readonly headOid: string
  readonly baseBranch: string
  /** The commit on the base branch that brought it in; only of a merged one. */
  readonly mergeCommitOid?: string
  /** Whether a merge would be taken now; `unknown` while the host is still working it out. */
  readonly mergeable: 'yes' | 'no' | 'unknown'
  /** Why not, as far as the host tells. */
  readonly blockers: readonly PullBlocker[]
}

/** `conflict` does not go away by waiting; the others may. */
export type PullBlocker = 'draft' | 'conflict' | 'checks' | 'reviews' | 'behind' | 'rules'

export interface OpenPullRequest {
  readonly title: string
  readonly body: string
  /** Branch of the same repository that holds the changes. */
  readonly head: string
  readonly base: string
  readonly draft: boolean
}

export interface MergePullRequest {
  readonly number: number
  readonly strategy: MergeStrategy
  /** The pull request is merged only while its head is this commit. */
  readonly expectedHeadOid: string
  /** Unset: the host's own words. A rebase has no commit of its own and ignores both. */
  readonly commitTitle?: string
  readonly commitMessage?: string
}

/**
 * A host of Git repositories. Every method is bounded in time by the driver, ends with the signal, and fails with a
 * `GitHostError` alone; retries are the caller's. Nothing of a host is remembered but credentials, until shortly before
 * they expire.
 */
export interface GitHost {
  /** Names this host among those of the deployment, for good: rows refer to it. */
  readonly id: string
  /** `local`, `github`, `gitlab`, `forgejo` (interface 2.3, `source.kind`). */
  readonly kind: string
  /** What the host calls the account now. @throws GitHostError `not_found` for one that this deployment does not reach */
  readAccount(account: string, signal?: AbortSignal): Promise<string>
  /** A page of the account's repositories that this deployment reaches. */
  listRepositories(
    account: string,
    page: { readonly limit: number; readonly from: string | null },
    signal?: AbortSignal,
  ): Promise<RepositoryListing>
  readRepository(repository: RepositoryRef, signal?: AbortSignal): Promise<HostRepository>
  /** @throws GitHostError `not_found` with `subject: 'branch'` for a branch that is not there */
  readBranch(repository: RepositoryRef, branch: string, signal?: AbortSignal): Promise<HostBranch>
  /** What the service's own git needs to fetch (`read`) or push (`write`). */
  access(repository: RepositoryRef, right: 'read' | 'write', signal?: AbortSignal): Promise<RemoteAccess>
  /** The open pull request of a head branch into a base branch, where there is one. */
  findOpenPull(
    repository: RepositoryRef,
    branches: { readonly head: string; readonly base: string },
    signal?: AbortSignal,
  ): Promise<HostPull | null>
  /** @throws GitHostError `conflict` where one is open for the same branches already */
  openPull(repository: RepositoryRef, pull: OpenPullRequest, signal?: AbortSignal): Promise<HostPull>
  readPull(repository: RepositoryRef, number: number, signal?: AbortSignal): Promise<HostPull>
  /**
   * Merges at the exact head. Answers the commit on the base branch.
   * @throws GitHostError `head_moved` where the head is another commit, `not_mergeable` where the host will not take it
   *   now (conflict, draft, required checks, protection)
   */
  mergePull(
    repository: RepositoryRef,
    merge: MergePullRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly mergeCommitOid: string }>
}

/**
 * What kept a host from answering.
 *
 * - `unauthorized`: this deployment's own credential is not taken
 * - `forbidden`: the host refuses the operation (a missing permission, a policy)
 * - `not_found`: the repository, branch or pull request is not there or not to be seen
 * - `conflict`: it clashes with what is there
 * - `head_moved`, `not_mergeable`: see `mergePull`
 * - `invalid`: the host does not take what was sent
 * - `rate_limited`, `unavailable`: later, perhaps; the only kinds that pass by themselves
 */
export type GitHostErrorKind =
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'head_moved'
  | 'not_mergeable'
  | 'invalid'
  | 'rate_limited'
  | 'unavailable'

/** A host that did not do what it was asked. */
export class GitHostError extends Error {
  override readonly name = 'GitHostError'
  readonly kind: GitHostErrorKind
  /** How long the host asks to be left alone; only with `rate_limited` and `unavailable`. */
  readonly retryAfterMs: number | undefined
  /** What was not found. */
  readonly subject: 'repository' | 'branch' | 'pull' | undefined

  constructor(
    kind: GitHostErrorKind,
    message: string,
    detail: { retryAfterMs?: number; subject?: 'repository' | 'branch' | 'pull'; cause?: unknown } = {},
  ) {
    super(message, { cause: detail.cause })
    this.kind = kind
    this.retryAfterMs = detail.retryAfterMs
    this.subject = detail.subject
  }

  /** Whether the same request may succeed later without anybody doing anything. */
  get passing(): boolean {
    return this.kind === 'rate_limited' || this.kind === 'unavailable'
  }
}
