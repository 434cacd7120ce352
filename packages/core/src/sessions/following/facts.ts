import type { FollowUpCause, FollowUpReason } from '@berth/contract'
import type { FollowSettings } from '../../accounts/organizations/follow-settings.ts'
import type { FollowedCheck, FollowedComment, FollowedReview, Observation } from '../../git-hosts/host-following.ts'
import type { FollowedTurn, FollowUpRow } from '../follow-ups/follow-up.ts'
import type { Bring } from '../turns/bring.ts'

/** What has become of a Turn of the follow-up. */
export interface TurnFacts {
  readonly turn: FollowedTurn
  /**
   * `working`: its Run, or the seal after it, has not ended. `asks`: it waits for people. `failed`: it did not complete.
   * `conflicted`: commits that somebody else pushed could not be brought in, so the agent did not begin.
   */
  readonly run: 'working' | 'asks' | 'done' | 'failed' | 'conflicted'
  /** The Session's newest revision, if the pull request does not have it. */
  readonly undelivered: string | null
  /** The Publication of its work. */
  readonly publication:
    | 'none'
    | 'open'
    | 'succeeded'
    /** Somebody pushed meanwhile, so the work waits for theirs. */
    | 'overtaken'
    | 'failed'
  /** Whether the checks of the environment let the revision out: `open` while they run, `unverified` before they do. */
  readonly verification: 'not_needed' | 'unverified' | 'open' | 'passed' | 'failed'
}

/** Everything that decides on the next step of a follow-up. */
export interface Facts {
  readonly now: Date
  readonly row: FollowUpRow
  /** Null: nothing has changed at the host since the last look, at which nothing was left to do. */
  readonly observed: Observation | null
  /** The logins, of those who wrote what has not been seen yet, that may push or are named by the follow-up. */
  readonly writers: ReadonlySet<string>
  /** Whose removal stops it, as the organization says. */
  readonly stops: Pick<FollowSettings, 'label' | 'assignee'>
  /** The base is ahead of the head by more commits than the organization lets it. */
  readonly isOutdated: boolean
  readonly session: {
    /** Something of it is under way that is not of this follow-up. */
    readonly isBusy: boolean
    /** A Turn could begin. */
    readonly canContinue: boolean
  }
  /** Whoever began it may still do so. */
  readonly isAuthorized: boolean
  /** Its newest Turn, unless nothing is left to do for it. */
  readonly turn: TurnFacts | null
  /** Commits that the Session has put on the branch. */
  readonly published: ReadonlySet<string>
  /** Tree of the newest of them; null if it is not known. */
  readonly tree: string | null
  /** The Merge of the head. */
  readonly merge: { readonly status: 'open' | 'succeeded' | 'failed'; readonly error: string | null } | null
  /** The environment's checks have passed on what is published. */
  readonly isVerified: boolean
}

/** The event of the pull request that a Turn is about. */
export interface FollowedEvent {
  readonly cause: FollowUpCause
  readonly key: string
  /** Further keys that are dealt with by the Turn. */
  readonly seen: readonly string[]
  readonly bring: readonly Bring[]
  readonly checks: readonly FollowedCheck[]
  readonly reviews: readonly FollowedReview[]
  readonly comments: readonly FollowedComment[]
}

/** The next step of a follow-up. */
export type Decision =
  /** Nothing is to be done now. `settled`: nor is anything left to do of what the host has told. */
  | { readonly kind: 'wait'; readonly ms: number; readonly awaits: 'host' | 'person'; readonly settled: boolean }
  /** The same, and keys of events that need no work. */
  | { readonly kind: 'turn'; readonly event: FollowedEvent }
  | { readonly kind: 'verify'; readonly revision: string }
  | { readonly kind: 'publish'; readonly revision: string }
  /** Answers the comments that a Turn was about, and closes that Turn. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'merge' }
  | { readonly kind: 'end'; readonly state: 'merged' | 'closed' }
  | { readonly kind: 'stop'; readonly by: string | null }
  | { readonly kind: 'need'; readonly reason: FollowUpReason }
  /** A question is answered, or the Session works again. */
  | { readonly kind: 'resume' }
