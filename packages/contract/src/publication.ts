import { type Static, Type } from 'typebox'
import { CommitOid, Prose, TitleLine } from './commit.ts'
import { FollowUpRequest } from './follow-up.ts'
import { sourceLimits } from './limits.ts'
import { closed, DateTime, nullable, open, openString, Sha256, Uuid } from './scalar.ts'
import { Creator } from './session.ts'

export const publicationStatuses = ['admitted', 'prepared', 'attempted', 'succeeded', 'failed'] as const
export const deliveries = ['pull_request', 'direct_branch'] as const

/** Why a Publication failed. Clients treat the set as open. */
export const publicationErrors = [
  'review_changed',
  'no_changes',
  'secret_in_changes',
  'conflict_markers',
  'workspace_expired',
  'session_archived',
  'withdrawn',
  'authority_revoked',
  'branch_exists',
  'branch_moved',
  'branch_protected',
  'target_missing',
  'target_moved',
  'base_rewritten',
  'commit_not_signed',
  'pull_request_refused',
  'repository_unavailable',
  'repository_permission_denied',
  'git_host_unauthorized',
  'git_host_rate_limited',
  'git_host_unavailable',
  'git_host_refused',
  'internal_error',
] as const

/** The result of a delivery. */
export const PublicationResult = Type.Object(
  {
    delivery: Type.Enum(deliveries, {
      type: 'string',
      description:
        'How it was delivered. The first commit of a repository is `direct_branch` even if a `pull_request` was asked for: there is no branch yet to open one against.',
    }),
    branch: Type.String(),
    commitSha: CommitOid,
    pullRequest: Type.Optional(
      Type.Object(
        {
          number: Type.Integer(),
          url: Type.String({ format: 'uri' }),
          draft: Type.Boolean(),
          reused: Type.Boolean({ description: 'True if the pull request was already open.' }),
        },
        open,
      ),
    ),
  },
  { title: 'PublicationResult', description: 'The result of a delivery.', ...open },
)

/** The delivery of one reviewed revision. */
export const Publication = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    status: Type.Enum(publicationStatuses, { type: 'string' }),
    revision: Sha256,
    title: Type.String(),
    delivery: Type.Enum(deliveries, { type: 'string' }),
    result: Type.Optional(PublicationResult),
    requestedBy: Type.Optional(Creator),
    verificationId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The passed verification that stood when it was asked for.' }),
    ),
    statement: Type.Optional(
      Type.Object(
        { artifactId: Uuid },
        {
          description: 'The signed statement, which `getStatement` returns; only of a verified one that succeeded.',
          ...open,
        },
      ),
    ),
    lastError: Type.Optional(
      Type.Object(
        {
          code: openString(publicationErrors),
          branch: Type.Optional(
            Type.String({
              description:
                'With `branch_exists`: the branch that is in the way; it may lie above or below the wanted one.',
            }),
          ),
          suggestedBranch: Type.Optional(Type.String({ description: 'Another name for the wanted branch.' })),
        },
        open,
      ),
    ),
    createdAt: DateTime,
    updatedAt: DateTime,
    completedAt: Type.Optional(DateTime),
  },
  {
    title: 'Publication',
    description: 'The delivery of one reviewed revision, as a pull request or directly to a branch.',
    ...open,
  },
)

/** Response of every operation on one Publication. */
export const PublicationEnvelope = Type.Object({ publication: Publication }, { title: 'PublicationEnvelope', ...open })

/** A page of Publications, newest first. */
export const PublicationPage = Type.Object(
  { publications: Type.Array(Publication), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'PublicationPage', description: 'A page of Publications, newest first.', ...open },
)

/** Body of `createPublication`. */
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
          description: 'Head branch of the pull request; by default `svc/<session id>`.',
        }),
      ),
    ),
    draft: Type.Boolean({ default: false, description: 'Open the pull request as a draft.' }),
    verified: Type.Boolean({
      default: false,
      description: 'Refuse unless the newest verification of the revision has passed.',
    }),
    followUp: Type.Optional(FollowUpRequest),
  },
  { title: 'CreatePublication', description: 'Publishes a reviewed revision.', ...closed },
)

export type Publication = Static<typeof Publication>
export type PublicationResult = Static<typeof PublicationResult>
export type PublicationPage = Static<typeof PublicationPage>
export type PublicationStatus = (typeof publicationStatuses)[number]
export type PublicationError = (typeof publicationErrors)[number]
/** The body as the service reads it, with defaults filled in. */
export type CreatePublication = Static<typeof CreatePublication>
