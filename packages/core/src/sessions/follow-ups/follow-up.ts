import {
  type FollowableCause,
  type FollowUp,
  type FollowUpCause,
  type FollowUpMerge,
  type FollowUpReason,
  type FollowUpState,
  followUpLimits,
} from '@berth/contract'

/** A Turn that an event of the pull request has made. */
export interface FollowedTurn {
  readonly turnId: string
  readonly cause: FollowUpCause
  /** Names the event: the same event gives the same Turn. */
  readonly key: string
  /** ISO 8601. */
  readonly at: string
  /** Where its answers go: the threads that it is about, numbered as its message numbers them; null for the pull request. */
  readonly threads: readonly (string | null)[]
  /** The Publication that delivered its work; absent if it changed nothing, or until then. */
  readonly publicationId?: string
  /** Nothing is left to do for it: its work is published, and its answers are given. */
  readonly settled?: boolean
}

/** What a pull request was marked with when its host was read last. */
export interface FollowedMarks {
  readonly labels?: readonly string[]
  readonly assignees?: readonly string[]
}

/**
 * What the service does for a pull request until it is merged. It goes through these states:
 *
 * - `watching`: the host is asked every two minutes, or at once when it tells of something.
 * - `working`: an event of the pull request has made a Turn, whose Run, Publication or answers have not ended.
 * - `needs_person`: a bound is reached, or a step failed. It rests: it makes no Turn, pushes nothing and writes no more
 *   than one comment, until somebody resumes it. The host is still asked whether the pull request was merged or closed.
 * - `merged`, `closed`, `stopped`: final. Only `stopped` can be resumed.
 *
 * A round begins each time that somebody starts or resumes it. Every step has an id that follows from the round and the
 * event (`following/step-ids.ts`), so a worker that takes a row up finds whatever an earlier one has done.
 */
export interface FollowUpRow {
  readonly organization_id: string
  readonly session_id: string
  readonly publication_id: string
  readonly pull_number: number
  readonly pull_url: string
  readonly pull_title: string
  readonly pull_state: 'open' | 'draft' | 'merged' | 'closed'
  readonly state: FollowUpState
  readonly reason: FollowUpReason | null
  /** Whose turn it is while it watches. */
  readonly awaits: 'host' | 'person'
  readonly round: number
  readonly attempts: number
  readonly max_attempts: number
  readonly budget_usd: string | null
  /** What the Runs of the round have cost that have ended. */
  readonly spent_usd: string
  readonly until: Date
  readonly merge: FollowUpMerge
  readonly causes: readonly FollowableCause[]
  /** Logins at the host whose words count beside those of people who may push. */
  readonly people: readonly string[]
  readonly started_by_kind: 'person' | 'app_installation'
  readonly started_by_id: string
  readonly head_sha: string | null
  readonly turns: readonly FollowedTurn[]
  readonly seen: readonly string[]
  readonly marks: FollowedMarks
  readonly cursor: string | null
  /** When the last comment of the round was written, or given up. */
  readonly noted_at: Date | null
  readonly failures: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly ended_at: Date | null
}

/** Returns the Turns of the present round, oldest first. */
export const turnsOfRound = ({ turns, attempts }: Pick<FollowUpRow, 'turns' | 'attempts'>): readonly FollowedTurn[] =>
  attempts === 0 ? [] : turns.slice(-attempts)

/** Returns the follow-up as the API has it. */
export function toFollowUp(row: FollowUpRow): FollowUp {
  return {
    sessionId: row.session_id,
    publicationId: row.publication_id,
    pullRequest: { number: row.pull_number, url: row.pull_url },
    state: row.state,
    ...(row.reason !== null && { reason: row.reason }),
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    spentUsd: Number(row.spent_usd),
    budgetUsd: row.budget_usd === null ? null : Number(row.budget_usd),
    until: row.until.toISOString(),
    merge: row.merge,
    on: [...row.causes],
    people: [...row.people],
    headSha: row.head_sha,
    history: row.turns
      .slice(-followUpLimits.history)
      .reverse()
      .map(({ turnId, cause, at, publicationId }) => ({
        turnId,
        cause,
        at,
        ...(publicationId !== undefined && { publicationId }),
      })),
    startedAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
  }
}
