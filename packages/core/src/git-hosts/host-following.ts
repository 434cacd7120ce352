import type { HostCheck, HostComment, HostPull, RepositoryRef } from './git-host.ts'
import type { HostPerson } from './host-people.ts'

/**
 * Comments on issues and pull requests, and the rights of those who write them. Every method ends with the signal and
 * fails only with a `GitHostError`.
 */
export interface HostComments {
  /** Returns the right of a person in a repository. */
  rightOf(repository: RepositoryRef, login: string, signal?: AbortSignal): Promise<'none' | 'read' | 'write'>
  /**
   * Finds a comment of this deployment's own, among the latest of an issue or pull request.
   * @param marker text that no other comment of this deployment begins with
   */
  findOwnComment(
    repository: RepositoryRef,
    at: { readonly number: number; readonly since: Date },
    marker: string,
    signal?: AbortSignal,
  ): Promise<HostComment | null>
  addComment(repository: RepositoryRef, number: number, body: string, signal?: AbortSignal): Promise<HostComment>
  /** @throws GitHostError `not_found` if somebody has deleted it */
  editComment(repository: RepositoryRef, id: string, body: string, signal?: AbortSignal): Promise<HostComment>
}

/** A check of the head of a pull request that is followed. */
export interface FollowedCheck extends HostCheck {
  /** Names the check to `checkLog`, and is another one for each time that it ran. Null if nobody has reported it. */
  readonly id: string | null
  /** The host's own word for how it ended; null while it has not. */
  readonly conclusion: string | null
  readonly completedAt: Date | null
  /** What its reporter says of it in short: at most 2,000 characters. Null if that is nothing. */
  readonly summary: string | null
}

/** A comment on a pull request, or on a place in its files. */
export interface FollowedComment {
  /** Names it among the comments of its pull request. */
  readonly id: string
  readonly author: HostPerson
  /** A program wrote it, this deployment's own included. */
  readonly isBot: boolean
  /** This deployment wrote it. */
  readonly isOurs: boolean
  /** Null: it is about the whole pull request. */
  readonly path: string | null
  /** Null: it is about the whole file or pull request, or its line is gone from the head. */
  readonly line: number | null
  /** Comments with the same thread answer one another. Null: the comment stands alone. */
  readonly threadId: string | null
  readonly body: string
  readonly createdAt: Date
}

/** A review that somebody has submitted, and that nobody has dismissed. */
export interface FollowedReview {
  readonly id: string
  readonly author: HostPerson
  readonly isBot: boolean
  readonly isOurs: boolean
  readonly state: 'approved' | 'changes_requested' | 'commented'
  /** Empty if all of it is in the comments. */
  readonly body: string
  readonly submittedAt: Date
  readonly comments: readonly FollowedComment[]
}

/** A pull request with all that happens to it. What strangers write is given as they wrote it. */
export interface Observation {
  readonly pull: HostPull
  /** Tip of the base branch now; null if the branch is gone. */
  readonly baseOid: string | null
  /** The pull request is closed without a merge, and its head branch is gone. */
  readonly branchDeleted: boolean
  /** The host takes comments only from those who may push. */
  readonly locked: boolean
  readonly labels: readonly string[]
  /** Logins. */
  readonly assignees: readonly string[]
  /** Checks of exactly the head, required ones that nobody has reported included; null if hidden. */
  readonly checks: readonly FollowedCheck[] | null
  /** The latest reviews, oldest first. */
  readonly reviews: readonly FollowedReview[]
  /** The latest comments that belong to no review of `reviews`, oldest first: on the pull request, or single ones on lines. */
  readonly comments: readonly FollowedComment[]
  /** What the next `observe` begins from: printable ASCII of at most 16 KiB. */
  readonly cursor: string
}

/** Pull requests as a host lets them be followed until they are merged. */
export interface HostFollowing extends HostComments {
  /**
   * Reads a pull request with its checks, reviews and comments: some hundreds of the latest of each, those of earlier
   * observations included. So the caller knows by their ids which ones it has dealt with.
   * @param since cursor of an earlier observation of the same pull request; null: the first one
   * @returns null if nothing has changed since then, which costs the host little
   * @throws GitHostError `not_found` with `subject: 'pull'` if there is no such pull request
   */
  observe(
    repository: RepositoryRef,
    number: number,
    since: string | null,
    signal?: AbortSignal,
  ): Promise<Observation | null>
  /**
   * Returns the end of the output of a check, at most so many bytes of UTF-8 from the start of a line on; what else its
   * reporter says of it if there is no output, and an empty text if there is nothing at all. It is not masked.
   */
  checkLog(
    repository: RepositoryRef,
    check: Pick<FollowedCheck, 'id' | 'summary'>,
    mostBytes: number,
    signal?: AbortSignal,
  ): Promise<string>
  /**
   * Answers a comment: in its thread, or by a new comment on the pull request if it stands alone or its thread is gone.
   * @param body begins with the marker by which `findReply` finds it
   */
  reply(
    repository: RepositoryRef,
    number: number,
    to: Pick<FollowedComment, 'threadId'>,
    body: string,
    signal?: AbortSignal,
  ): Promise<HostComment>
  /** Finds an answer of this deployment's own among the latest comments of a pull request, those in threads included. */
  findReply(
    repository: RepositoryRef,
    at: { readonly number: number; readonly since: Date },
    marker: string,
    signal?: AbortSignal,
  ): Promise<HostComment | null>
}
