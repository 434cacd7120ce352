import type { MergeStrategy } from '@berth/contract'
import type { RemoteAccess } from '../git/remote-access.ts'
import type { HostComments, HostFollowing } from './host-following.ts'
import type { HostPeople } from './host-people.ts'

/** One repository of a host, by ids that do not change when it is renamed or moved. */
export interface RepositoryRef {
  /** The host's own id of the holder of its grants: an app's installation, a group, an owner. */
  readonly account: string
  /** The host's stable decimal id. */
  readonly repositoryId: string
}

/** A repository as its host describes it now. */
export interface HostRepository {
  readonly repositoryId: string
  /** `owner/name`, its present name. */
  readonly fullName: string
  readonly private: boolean
  /** In a repository without a commit: the branch that its first commit makes. Null if there is none. */
  readonly defaultBranch: string | null
  readonly htmlUrl: string
  /** URL that anybody with rights of their own clones it from, without a credential. Null if nobody does. */
  readonly cloneUrl: string | null
}

export interface RepositoryListing {
  readonly repositories: readonly HostRepository[]
  /** Start of the next page, in opaque printable ASCII; null if nothing follows. */
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

/** A branch that the first commit of a repository would make. */
export interface UnbornBranch {
  /** The host takes no commit that is pushed to it. */
  readonly protected: boolean
  /** The hash that names the repository's objects, as git calls it. */
  readonly objectFormat: 'sha1' | 'sha256'
}

/** A pull request (elsewhere a merge request) as the host has it now. */
export interface HostPull {
  readonly number: number
  readonly url: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
  /** Its head branch is another repository's, whose owner may be anybody. */
  readonly fromFork: boolean
  readonly state: 'open' | 'merged' | 'closed'
  readonly headBranch: string
  readonly headOid: string
  readonly baseBranch: string
  /** The commit on the base branch that brought it in; present only if it is merged. */
  readonly mergeCommitOid?: string
  /** Whether the host would merge it now; `unknown` while the host is still working it out. */
  readonly mergeable: 'yes' | 'no' | 'unknown'
  /** The reasons why not, as far as the host tells. */
  readonly blockers: readonly PullBlocker[]
}

/** Waiting does not end a `conflict`; it may end the others. */
export type PullBlocker = 'draft' | 'conflict' | 'checks' | 'reviews' | 'behind' | 'rules'

/** What one check says of a commit. */
export interface HostCheck {
  readonly name: string
  /** `missing`: it is required, and nobody has reported it yet. */
  readonly state: 'success' | 'failure' | 'pending' | 'skipped' | 'missing'
  /** Where it tells more, as whoever reported it says. */
  readonly url: string | null
  /** The host merges nothing before it has succeeded. */
  readonly required: boolean
}

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
  /** The host merges the pull request only while its head is this commit. */
  readonly expectedHeadOid: string
  /** Unset: the host chooses the words. A rebase has no commit of its own and ignores both. */
  readonly commitTitle?: string
  readonly commitMessage?: string
}

/** A credential of one account that the host issues to whoever holds it. */
export interface AccountToken {
  readonly value: string
  /** The token as git sends it, in `Basic` credentials. */
  readonly basic: string
  readonly expiresAt: Date
}

/** The tokens that processes in a sandbox use themselves. */
export interface AccountTokens {
  /** URL below which the host's repositories lie, without a slash at its end. */
  readonly webUrl: string
  /**
   * Mints a token that reads and writes contents and pull requests of some repositories of an account.
   * @param repositoryIds at most 500 and at least one; null for all repositories that this deployment reaches
   * @throws GitHostError
   */
  mint(account: string, repositoryIds: readonly string[] | null, signal: AbortSignal): Promise<AccountToken>
  /**
   * Makes the host refuse a token from now on. One that it refuses already is no error.
   * @throws GitHostError
   */
  revoke(token: AccountToken, signal: AbortSignal): Promise<void>
}

/** A comment on an issue or a pull request. */
export interface HostComment {
  readonly id: string
  readonly url: string
}

/** A comment on an issue, as it is read. */
export interface IssueComment {
  readonly author: string
  /** Whether the author belongs to the repository; others are strangers. */
  readonly isOfRepository: boolean
  readonly body: string
  /** RFC 3339. */
  readonly createdAt: string
}

/** An issue or pull request that refers to another one. */
export interface LinkedIssue {
  readonly number: number
  readonly title: string
  readonly url: string
}

/** An issue as the host has it now. Its texts are those of anybody. */
export interface HostIssue extends LinkedIssue, Omit<IssueComment, 'createdAt'> {
  /** The newest ones, oldest first, at most 50. */
  readonly comments: readonly IssueComment[]
  /** Number of all comments. */
  readonly commentCount: number
  /** Those of the same repository, at most 20. */
  readonly linked: readonly LinkedIssue[]
}

/** A comment of a review at a place in a file. */
export interface ReviewComment {
  readonly path: string
  /** Null: about the whole file, or a line that is gone. */
  readonly line: number | null
  readonly body: string
}

/** A check that this deployment reports of a commit. */
export interface OwnCheck {
  readonly headOid: string
  readonly name: string
  /** An id of the caller's, by which it finds the check again. */
  readonly externalId: string
  readonly url: string
  /** Null: it is under way. */
  readonly conclusion: 'success' | 'failure' | 'cancelled' | null
  readonly title: string
  /** Markdown of at most 65,535 bytes. */
  readonly summary: string
}

/**
 * Issues and pull requests as places where people talk. Every method ends with the signal and fails only with a
 * `GitHostError`.
 */
export interface HostTalk extends HostComments {
  /** Names this deployment in the host's events. */
  readonly appId: string
  /** Reads an issue with its comments. Absent: the host has no issues. */
  readIssue?(repository: RepositoryRef, number: number, signal?: AbortSignal): Promise<HostIssue>
  /** Returns the comments of a review at places in files, at most 100. */
  listReviewComments(
    repository: RepositoryRef,
    review: { readonly number: number; readonly id: string },
    signal?: AbortSignal,
  ): Promise<readonly ReviewComment[]>
  /** Returns the id of a check of this deployment's own; null if there is none. */
  findOwnCheck(
    repository: RepositoryRef,
    check: Pick<OwnCheck, 'headOid' | 'name' | 'externalId'>,
    signal?: AbortSignal,
  ): Promise<string | null>
  /** Returns the `external_id` of each failed check run of a suite, at most 100; null for one without. */
  listFailedChecks(repository: RepositoryRef, suite: string, signal?: AbortSignal): Promise<readonly (string | null)[]>
  /** Reports a check, and returns its id. */
  addCheck(repository: RepositoryRef, check: OwnCheck, signal?: AbortSignal): Promise<string>
  editCheck(repository: RepositoryRef, id: string, check: OwnCheck, signal?: AbortSignal): Promise<void>
}

/** A commit for the host to make, of objects that the repository has. */
export interface HostCommit {
  readonly tree: string
  /** The one of its branch first; none: it is the first commit of the repository. */
  readonly parents: readonly string[]
  readonly message: string
}

/** Commits that the host makes and signs itself; it alone says who their author and committer are. */
export interface HostSigning {
  /**
   * Makes a commit that no branch has yet.
   * @returns its id; null if the host did not sign it
   * @throws GitHostError
   */
  makeCommit(repository: RepositoryRef, commit: HostCommit, signal?: AbortSignal): Promise<string | null>
}

/**
 * A host of Git repositories. The driver bounds every method in time; each one ends with the signal and fails only with
 * a `GitHostError`. The caller retries. A driver remembers nothing of a host but credentials, until shortly before they
 * expire.
 */
export interface GitHost {
  /** Names this host in the deployment for good: rows refer to it. */
  readonly id: string
  /** `local` or `github`, as in `source.kind`. */
  readonly kind: string
  /** Absent: the host has no tokens for sandboxes. */
  readonly tokens?: AccountTokens
  /** Absent: people cannot connect accounts of their own. */
  readonly people?: HostPeople
  /** Absent: nobody comments there. */
  readonly talk?: HostTalk
  /** Absent: pull requests cannot be followed there. */
  readonly following?: HostFollowing
  /** Absent: the host signs no commits. */
  readonly signing?: HostSigning
  /**
   * Returns the account's present name at the host.
   * @throws GitHostError `not_found` if this deployment does not reach the account
   */
  readAccount(account: string, signal?: AbortSignal): Promise<string>
  /** Returns a page of the account's repositories that this deployment reaches. */
  listRepositories(
    account: string,
    page: { readonly limit: number; readonly from: string | null },
    signal?: AbortSignal,
  ): Promise<RepositoryListing>
  readRepository(repository: RepositoryRef, signal?: AbortSignal): Promise<HostRepository>
  /**
   * Returns the tip of a branch.
   * @throws GitHostError `not_found` with `subject: 'branch'` if the branch does not exist
   */
  readBranch(repository: RepositoryRef, branch: string, signal?: AbortSignal): Promise<HostBranch>
  /**
   * Returns a branch that does not exist yet, in a repository without a commit. Null if the repository has one.
   */
  readUnbornBranch(repository: RepositoryRef, branch: string, signal?: AbortSignal): Promise<UnbornBranch | null>
  /**
   * Returns the names of the branches that begin with a prefix, at most `limit` of them, in the order of their names. A
   * repository without a commit has none.
   */
  listBranches(
    repository: RepositoryRef,
    names: { readonly prefix: string; readonly limit: number },
    signal?: AbortSignal,
  ): Promise<readonly string[]>
  /** Returns the access with which the service's own git fetches (`read`) or pushes (`write`). */
  access(repository: RepositoryRef, right: 'read' | 'write', signal?: AbortSignal): Promise<RemoteAccess>
  /** Returns the open pull request of a head branch into a base branch; null if there is none. */
  findOpenPull(
    repository: RepositoryRef,
    branches: { readonly head: string; readonly base: string },
    signal?: AbortSignal,
  ): Promise<HostPull | null>
  /**
   * Opens a pull request.
   * @throws GitHostError `conflict` if one is open for the same branches already
   */
  openPull(repository: RepositoryRef, pull: OpenPullRequest, signal?: AbortSignal): Promise<HostPull>
  readPull(repository: RepositoryRef, number: number, signal?: AbortSignal): Promise<HostPull>
  /** Replaces the description of a pull request. */
  describePull(repository: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<void>
  /** Returns the checks of a pull request's head, required ones that nobody has reported included; null if hidden. */
  readChecks(
    repository: RepositoryRef,
    pull: Pick<HostPull, 'headOid' | 'baseBranch'>,
    signal?: AbortSignal,
  ): Promise<HostCheck[] | null>
  /**
   * Merges at the exact head and returns the commit on the base branch.
   * @throws GitHostError `head_moved` if the head is another commit, `not_mergeable` if the host refuses the merge now
   *   (conflict, draft, required checks, protection)
   */
  mergePull(
    repository: RepositoryRef,
    merge: MergePullRequest,
    signal?: AbortSignal,
  ): Promise<{ readonly mergeCommitOid: string }>
}

/**
 * Why a host did not do as asked.
 *
 * - `unauthorized`: the host does not take this deployment's own credential
 * - `forbidden`: the host refuses the operation (a missing permission, a policy)
 * - `not_found`: the repository, branch or pull request does not exist or is hidden
 * - `conflict`: the request clashes with the present state
 * - `head_moved`, `not_mergeable`: see `mergePull`
 * - `invalid`: the host does not take the request
 * - `rate_limited`, `unavailable`: a later request may succeed; only these kinds pass by themselves
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

/** Thrown if a host did not do as asked. */
export class GitHostError extends Error {
  override readonly name = 'GitHostError'
  readonly kind: GitHostErrorKind
  /** Pause that the host asks for; only with `rate_limited` and `unavailable`. */
  readonly retryAfterMs: number | undefined
  /** The object that was not found. */
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

  /** True if the same request may succeed later without anybody's action. */
  get passing(): boolean {
    return this.kind === 'rate_limited' || this.kind === 'unavailable'
  }
}
