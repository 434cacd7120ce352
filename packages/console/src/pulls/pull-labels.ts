import type { FollowUp, PullRequest } from '@berth/contract'
import { counted } from '../ui/format.ts'

const reasons: Readonly<Record<string, string>> = {
  attempts_used: 'all its attempts are used',
  budget_used: 'its budget is spent',
  time_used: 'its time is over',
  same_failure: 'the same failure came again after the same change',
  person_asked: 'somebody asked it to stop',
  push_conflict: 'somebody else has pushed, and both cannot be brought together without a decision',
  run_failed: 'the agent’s Run failed',
  question_open: 'the agent waits for an answer',
  publication_failed: 'the changes could not be delivered',
  host_refused: 'the Git host refused it',
  branch_deleted: 'the branch was deleted',
  authority_revoked: 'whoever asked for it may no longer do it',
  session_ended: 'the Session was archived',
  locked: 'the conversation of the pull request is locked',
  merge_refused: 'the Git host refused the merge',
}

/** Returns why a follow-up rests or has ended; empty if it says nothing. */
export const followUpReason = (reason: string | undefined): string =>
  reason === undefined ? '' : (reasons[reason] ?? reason.replaceAll('_', ' '))

const causes: Readonly<Record<string, string>> = {
  checks: 'Checks failed',
  reviews: 'Reviewers asked for changes',
  conflicts: 'It conflicts with its base',
  base: 'Its base moved on',
  pushed: 'Somebody else pushed',
}

/** Returns the cause in the pull request for which the agent worked on. */
export const causeText = (cause: string): string => causes[cause] ?? cause.replaceAll('_', ' ')

/** The causes that people choose from, with the agent's reaction to each. */
export const causeChoices = [
  ['checks', 'Required checks that fail'],
  ['reviews', 'Comments of reviewers'],
  ['conflicts', 'Conflicts with the base branch'],
  ['base', 'A base branch that moves on'],
] as const

const turns: Readonly<Record<string, string>> = {
  agent: 'The agent’s turn',
  person: 'Your turn',
  host: 'Waits for its host',
  nobody: 'Ended',
}

/** Returns whose turn it is, as a heading. */
export const turnText = (turn: string): string => turns[turn] ?? turn.replaceAll('_', ' ')

/** The turns in the order in which people want to see them. */
export const turnOrder = ['person', 'agent', 'host', 'nobody'] as const

const states: Readonly<Record<string, string>> = {
  open: 'Open',
  draft: 'Draft',
  merged: 'Merged',
  closed: 'Closed',
  unknown: 'Not followed',
}

/** Returns the state of a pull request in a word or two. */
export const stateText = (state: string): string => states[state] ?? state.replaceAll('_', ' ')

/** Groups pull requests by whose turn it is, in the order of `turnOrder`; each group keeps the order of the list. */
export function groupByTurn(
  pulls: readonly PullRequest[],
): readonly { readonly turn: string; readonly pulls: readonly PullRequest[] }[] {
  const known: readonly string[] = turnOrder
  const rank = (turn: string) => (known.includes(turn) ? known.indexOf(turn) : known.length)
  return Object.entries(Object.groupBy(pulls, ({ turn }) => turn))
    .map(([turn, of = []]) => ({ turn, pulls: of }))
    .toSorted((one, other) => rank(one.turn) - rank(other.turn))
}

/** Whether a follow-up is over for good. */
export const hasEnded = ({ state }: Pick<FollowUp, 'state'>): boolean =>
  state === 'merged' || state === 'closed' || state === 'stopped'

/** Describes the state of a follow-up in a sentence. */
export function followUpText(followUp: FollowUp): string {
  const reason = followUpReason(followUp.reason)
  const because = reason === '' ? '.' : `: ${reason}.`
  switch (followUp.state) {
    case 'watching':
      return followUp.merge === 'when_ready'
        ? 'Berth watches it, and merges it when it is ready.'
        : 'Berth watches it until it is merged.'
    case 'working':
      return `The agent is at it: ${causeText(followUp.history[0]?.cause ?? 'checks').toLowerCase()}.`
    case 'needs_person':
      return `It needs a person${because}`
    case 'merged':
      return 'It was merged.'
    case 'closed':
      return 'It was closed without a merge.'
    default:
      return `It is no longer followed${because}`
  }
}

/** Returns how much of its attempts a follow-up has used. */
export const attemptsText = ({ attempts, maxAttempts }: FollowUp): string =>
  `${attempts} of ${counted(maxAttempts, 'attempt')}`
