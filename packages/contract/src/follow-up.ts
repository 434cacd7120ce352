import { type Static, Type } from 'typebox'
import { CommitOid } from './commit.ts'
import { followUpLimits } from './limits.ts'
import { Count, closed, DateTime, nullable, open, openString, Uuid } from './scalar.ts'

export const followUpStates = ['watching', 'working', 'needs_person', 'merged', 'closed', 'stopped'] as const

/** What of a pull request makes the agent work on. `pushed` is always followed. */
export const followUpCauses = ['checks', 'reviews', 'conflicts', 'base', 'pushed'] as const
export const followableCauses = ['checks', 'reviews', 'conflicts', 'base'] as const
export const followUpMerges = ['never', 'when_ready'] as const

/** Why a follow-up needs a person or was stopped. Clients treat the set as open. */
export const followUpReasons = [
  'attempts_used',
  'budget_used',
  'time_used',
  'same_failure',
  'person_asked',
  'push_conflict',
  'run_failed',
  'question_open',
  'publication_failed',
  'host_refused',
  'branch_deleted',
  'authority_revoked',
  'session_ended',
  'locked',
  'merge_refused',
] as const

/** The bounds of a follow-up, as callers ask for them. */
export const FollowUpRequest = Type.Object(
  {
    maxAttempts: Type.Integer({
      minimum: 1,
      maximum: followUpLimits.attempts,
      default: 5,
      description: 'How many Turns the events of the pull request may make.',
    }),
    budgetUsd: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: 1e9,
        description: 'US dollars for models that the Runs of those Turns may cost. No Turn begins once they are spent.',
      }),
    ),
    days: Type.Integer({ minimum: 1, maximum: followUpLimits.days, default: 7, description: 'How long it goes on.' }),
    merge: Type.Enum(followUpMerges, {
      type: 'string',
      default: 'never',
      description:
        '`when_ready` merges exactly the published head once the host takes it. It needs `svc.cloud.merges:create` as well.',
    }),
    on: Type.Array(Type.Enum(followableCauses, { type: 'string' }), {
      minItems: 1,
      maxItems: followableCauses.length,
      uniqueItems: true,
      default: [...followableCauses],
      description: 'What makes the agent work on.',
    }),
    people: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: '^\\S+$' }), {
        maxItems: 50,
        uniqueItems: true,
        description:
          'Logins at the Git host whose reviews and comments count, beside those of people who may push to the repository. Absent: those that it has.',
      }),
    ),
  },
  { title: 'FollowUpRequest', description: 'The bounds of a follow-up.', ...closed },
)

/** What the service does for a pull request until it is merged. */
export const FollowUp = Type.Object(
  {
    sessionId: Uuid,
    publicationId: Type.String({ format: 'uuid', description: 'The Publication with which it began.' }),
    pullRequest: Type.Object({ number: Type.Integer(), url: Type.String({ format: 'uri' }) }, open),
    state: Type.Enum(followUpStates, {
      type: 'string',
      description:
        '`working`: a Run is at it. `needs_person` rests until somebody resumes it. `merged`, `closed` and `stopped` are final.',
    }),
    reason: Type.Optional(openString(followUpReasons, 'Why it needs a person, or was stopped.')),
    attempts: Count,
    maxAttempts: Count,
    spentUsd: Type.Number({ minimum: 0, description: 'Cost of its Runs that have ended, as far as it is known.' }),
    budgetUsd: nullable(Type.Number()),
    until: DateTime,
    merge: openString(followUpMerges),
    on: Type.Array(openString(followableCauses)),
    people: Type.Array(Type.String(), {
      description: 'Logins whose words count beside those of people who may push.',
    }),
    headSha: nullable(CommitOid),
    history: Type.Array(
      Type.Object(
        {
          turnId: Uuid,
          cause: openString(followUpCauses),
          at: DateTime,
          publicationId: Type.Optional(
            Type.String({ format: 'uuid', description: 'The Publication that delivered its work.' }),
          ),
        },
        open,
      ),
      { description: 'Its Turns, at most 20, newest first.' },
    ),
    startedAt: DateTime,
    updatedAt: DateTime,
    endedAt: Type.Optional(DateTime),
  },
  { title: 'FollowUp', description: 'What the service does for a pull request until it is merged.', ...open },
)

/** Response of every operation on one follow-up. */
export const FollowUpEnvelope = Type.Object({ followUp: FollowUp }, { title: 'FollowUpEnvelope', ...open })

export const pullRequestStates = ['open', 'draft', 'merged', 'closed', 'unknown'] as const
export const pullRequestTurns = ['agent', 'person', 'host', 'nobody'] as const

/** A pull request that a Session has published. */
export const PullRequest = Type.Object(
  {
    sessionId: Uuid,
    sessionTitle: Type.String(),
    publicationId: Type.String({ format: 'uuid', description: 'The newest Publication of the pull request.' }),
    repository: Type.String({
      description: '`owner/name` of the repository; empty if the service no longer knows it.',
    }),
    number: Type.Integer(),
    url: Type.String({ format: 'uri' }),
    title: Type.String(),
    state: openString(
      pullRequestStates,
      'As the service last saw it. `unknown`: nothing follows it, so the service does not ask.',
    ),
    turn: openString(
      pullRequestTurns,
      'Whose turn it is. `host`: checks or its queue are under way. `nobody`: it is merged or closed.',
    ),
    followUp: Type.Union([Type.Null(), FollowUp]),
    costUsd: Type.Number({ minimum: 0, description: "Cost of the Session's Runs that have ended." }),
    updatedAt: DateTime,
  },
  { title: 'PullRequest', description: 'A pull request that a Session has published.', ...open },
)

/** A page of pull requests, the last changed first. */
export const PullRequestPage = Type.Object(
  { pullRequests: Type.Array(PullRequest), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'PullRequestPage', description: 'A page of pull requests, the last changed first.', ...open },
)

const subject = {
  publicationId: Type.String({ format: 'uuid', description: 'The Publication with which it began.' }),
  pullRequest: Type.Object({ number: Type.Integer(), url: Type.String() }, open),
}

/** `svc.followup.started`: it began, or was resumed. */
export const FollowUpStarted = Type.Object(
  { ...subject, maxAttempts: Count, until: DateTime },
  { title: 'FollowUpStartedData', description: 'The service follows a pull request from now on.', ...open },
)

/** `svc.followup.attempted`: an event of the pull request has made a Turn. */
export const FollowUpAttempted = Type.Object(
  { ...subject, attempt: Type.Integer({ minimum: 1 }), cause: openString(followUpCauses), turnId: Uuid },
  { title: 'FollowUpAttemptedData', description: 'An event of the pull request has made a Turn.', ...open },
)

/** `svc.followup.ended`: it has ended, or rests because it needs a person. */
export const FollowUpEnded = Type.Object(
  {
    ...subject,
    state: openString(['needs_person', 'merged', 'closed', 'stopped']),
    reason: Type.Optional(openString(followUpReasons)),
  },
  { title: 'FollowUpEndedData', description: 'A follow-up has ended, or needs a person.', ...open },
)

/** The body as the service reads it, with defaults filled in. */
export type FollowUpRequest = Static<typeof FollowUpRequest>
export type FollowUp = Static<typeof FollowUp>
export type FollowUpState = (typeof followUpStates)[number]
export type FollowUpCause = (typeof followUpCauses)[number]
export type FollowUpReason = (typeof followUpReasons)[number]
export type FollowUpMerge = (typeof followUpMerges)[number]
export type FollowableCause = (typeof followableCauses)[number]
export type PullRequest = Static<typeof PullRequest>
export type PullRequestPage = Static<typeof PullRequestPage>
export type PullRequestState = (typeof pullRequestStates)[number]
export type PullRequestTurn = (typeof pullRequestTurns)[number]
