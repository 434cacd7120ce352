import type { EventDraft } from '../log/envelope.ts'
import type { FollowedTurn, FollowUpRow } from './follow-up.ts'

const subjectOf = ({ publication_id, pull_number, pull_url }: FollowUpRow) => ({
  publicationId: publication_id,
  pullRequest: { number: pull_number, url: pull_url },
})

/** Returns the Event that tells that a pull request is followed from now on. */
export const startedEvent = (row: FollowUpRow): EventDraft => ({
  type: 'svc.followup.started',
  data: { ...subjectOf(row), maxAttempts: row.max_attempts, until: row.until.toISOString() },
})

/** Returns the Event that tells that an event of the pull request has made a Turn. */
export const attemptedEvent = (row: FollowUpRow, { cause, turnId }: FollowedTurn): EventDraft => ({
  type: 'svc.followup.attempted',
  data: { ...subjectOf(row), attempt: row.attempts, cause, turnId },
})

/** Returns the Event that tells that a follow-up has ended, or rests because it needs a person. */
export const endedEvent = (row: FollowUpRow): EventDraft => ({
  type: 'svc.followup.ended',
  data: { ...subjectOf(row), state: row.state, ...(row.reason !== null && { reason: row.reason }) },
})
