import type { FollowUpReason } from '@berth/contract'
import { type FollowUpRow, turnsOfRound } from '../follow-ups/follow-up.ts'
import { markerOf } from './step-ids.ts'

/** Why a follow-up rests or was stopped, in words for those who look at the pull request. */
const because: Readonly<Record<FollowUpReason, string>> = {
  attempts_used: 'it has used all of its attempts',
  budget_used: 'its budget is used',
  time_used: 'its time is over',
  same_failure: 'the same failed again after an attempt to mend it',
  person_asked: 'somebody asked it to stop',
  push_conflict: 'commits that somebody pushed here conflict with its own work',
  run_failed: 'its agent did not get to an end',
  question_open: 'its agent waits for an answer in the Session',
  publication_failed: 'its work could not be published',
  host_refused: 'the Git host refuses what it needs',
  branch_deleted: 'the branch is gone',
  authority_revoked: 'nobody answers for it any more',
  session_ended: 'its Session has ended',
  locked: 'the conversation is locked',
  merge_refused: 'the Git host did not take the merge',
}

/** Reasons about which the pull request is told nothing: the host would not take it, or it goes on by itself. */
const silent: ReadonlySet<FollowUpReason> = new Set(['question_open', 'host_refused', 'locked', 'authority_revoked'])

/** Returns whether a follow-up that has come to rest still has to say so at the pull request. */
export const owesComment = ({ state, reason, noted_at }: FollowUpRow): boolean =>
  (state === 'needs_person' || state === 'stopped') && noted_at === null && reason !== null && !silent.has(reason)

const causes = {
  checks: 'failed checks',
  reviews: 'a review',
  conflicts: 'a conflict with the base',
  base: 'a base that moved',
  pushed: 'commits of somebody else',
} as const

/** Returns the one comment of a round, which says why it ends and what was tried. */
export function lastComment(row: FollowUpRow, sessionUrl: string): string {
  const reason = row.reason === null ? 'it has ended' : because[row.reason]
  const turns = turnsOfRound(row)
  const tried = turns.map(
    ({ cause, publicationId }, index) =>
      `${index + 1}. ${causes[cause]}: ${publicationId === undefined ? 'nothing was published' : 'published'}`,
  )
  return [
    markerOf(row, 'end'),
    `**Berth ${row.state === 'stopped' ? 'no longer follows' : 'needs a person for'} this pull request**: ${reason}.`,
    '',
    ...(tried.length === 0 ? ['Nothing was tried.'] : ['What was tried:', '', ...tried]),
    '',
    `[Session](${sessionUrl})`,
  ].join('\n')
}
