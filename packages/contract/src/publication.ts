import { type Static, Type } from 'typebox'
import { CommitOid, Prose, TitleLine } from './commit.ts'
import { sourceLimits } from './limits.ts'
import { closed, DateTime, nullable, open, openString, Sha256, Uuid } from './scalar.ts'

export const publicationStatuses = ['admitted', 'prepared', 'attempted', 'succeeded', 'failed'] as const
export const deliveries = ['pull_request', 'direct_branch'] as const

/** Why a Publication failed. The set is open to clients. */
export const publicationErrors = [
  'review_changed',
  'no_changes',
  'workspace_expired',
  'session_archived',
  'authority_revoked',
  'branch_exists',
  'branch_moved',
  'branch_protected',
  'target_missing',
  'target_moved',
  'pull_request_refused',
  'repository_unavailable',
  'repository_permission_denied',
  'git_host_unauthorized',
  'git_host_rate_limited',
  'git_host_unavailable',
  'git_host_refused',
  'internal_error',
] as const

/** What a delivery made (interface 2.7). */
export const PublicationResult = Type.Object(
  {
    delivery: Type.Enum(deliveries, { type: 'string' }),
    branch: Type.String(),
    commitSha: CommitOid,
    pullRequest: Type.Optional(
      Type.Object(
        {
          number: Type.Integer(),
          url: Type.String({ format: 'uri' }),
          draft: Type.Boolean(),
          reused: Type.Boolean({ description: 'It was open before.' }),
        },
        open,
      ),
    ),
  },
  { title: 'PublicationResult', ...open },
)

/** Delivery of one exact reviewed revision (interface 2.7). */
export const Publication = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    status: Type.Enum(publicationStatuses, { type: 'string' }),
    revision: Sha256,
    title: Type.String(),
    delivery: Type.Enum(deliveries, { type: 'string' }),
    result: Type.Optional(PublicationResult),
    lastError: Type.Optional(Type.Object({ code: openString(publicationErrors) }, open)),
    createdAt: DateTime,
    updatedAt: DateTime,
    completedAt: Type.Optional(DateTime),
  },
  { title: 'Publication', description: 'Delivery of a reviewed revision.', ...open },
)

/** Answer of every read and write of one Publication. */
export const PublicationEnvelope = Type.Object({ publication: Publication }, { title: 'PublicationEnvelope', ...open })

/** A page of Publications, newest first (interface 4.9). */
export const PublicationPage = Type.Object(
  { publications: Type.Array(Publication), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'PublicationPage', ...open },
)

/** Body that delivers a revision (interface 4.9). */
export const CreatePublication = Type.Object(
  {
    revision: Sha256,
    title: TitleLine,
    delivery: Type.Enum(deliveries, { type: 'string', default: 'pull_request' }),
    body: Type.Optional(nullable(Prose)),
    branch: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: sourceLimits.baseBranch,
          description: 'Head branch of the pull request; `svc/<session id>` by default.',
        }),
      ),
    ),
    draft: Type.Boolean({ default: false, description: 'Open the pull request as a draft.' }),
  },
  { title: 'CreatePublication', ...closed },
)

export type Publication = Static<typeof Publication>
export type PublicationResult = Static<typeof PublicationResult>
export type PublicationPage = Static<typeof PublicationPage>
export type PublicationStatus = (typeof publicationStatuses)[number]
export type PublicationError = (typeof publicationErrors)[number]
/** As the service reads it, with defaults filled in. */
export type CreatePublication = Static<typeof CreatePublication>
