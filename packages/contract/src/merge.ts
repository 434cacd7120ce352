import { type Static, Type } from 'typebox'
import { CommitOid, Prose, TitleLine } from './commit.ts'
import { Count, closed, DateTime, nullable, open, openString, Uuid } from './scalar.ts'

export const mergeStatuses = ['admitted', 'attempted', 'waiting', 'succeeded', 'failed'] as const
export const mergeStrategies = ['merge', 'squash', 'rebase'] as const
export const mergeModes = ['immediate', 'when_ready'] as const

/** Why a Merge failed or is waiting. Clients treat the set as open. */
export const mergeErrors = [
  'merge_not_ready',
  'head_moved',
  'pull_request_closed',
  'pull_request_missing',
  'merge_refused',
  'session_archived',
  'withdrawn',
  'authority_revoked',
  'repository_unavailable',
  'repository_permission_denied',
  'git_host_unauthorized',
  'git_host_rate_limited',
  'git_host_unavailable',
  'git_host_refused',
  'internal_error',
] as const

/** The merge of a Publication's pull request at exactly the published head. */
export const Merge = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    publicationId: Uuid,
    status: Type.Enum(mergeStatuses, { type: 'string' }),
    strategy: openString(mergeStrategies),
    mode: openString(mergeModes),
    pullRequestNumber: Type.Integer(),
    expectedHeadSha: CommitOid,
    mergedCommitSha: Type.Optional(Type.String({ pattern: '^[a-f0-9]{40}$' })),
    lastError: Type.Optional(Type.Object({ code: openString(mergeErrors) }, open)),
    attempts: Count,
    createdAt: DateTime,
    updatedAt: DateTime,
    completedAt: Type.Optional(DateTime),
  },
  { title: 'Merge', description: "The merge of a Publication's pull request at exactly the published head.", ...open },
)

/** Response of every operation on one Merge. */
export const MergeEnvelope = Type.Object({ merge: Merge }, { title: 'MergeEnvelope', ...open })

/** A page of Merges, newest first. */
export const MergePage = Type.Object(
  { merges: Type.Array(Merge), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'MergePage', description: 'A page of Merges, newest first.', ...open },
)

/** Body of `createMerge`. */
export const CreateMerge = Type.Object(
  {
    strategy: Type.Enum(mergeStrategies, { type: 'string' }),
    mode: Type.Enum(mergeModes, { type: 'string', default: 'immediate' }),
    commitTitle: Type.Optional(nullable(TitleLine)),
    commitMessage: Type.Optional(nullable(Prose)),
  },
  { title: 'CreateMerge', description: 'Merges a pull request.', ...closed },
)

export type Merge = Static<typeof Merge>
export type MergePage = Static<typeof MergePage>
export type MergeStatus = (typeof mergeStatuses)[number]
export type MergeStrategy = (typeof mergeStrategies)[number]
export type MergeMode = (typeof mergeModes)[number]
export type MergeError = (typeof mergeErrors)[number]
export type CreateMerge = Static<typeof CreateMerge>
