import { type Static, Type } from 'typebox'
import { PullCheck } from './pull-check.ts'
import { Count, closed, DateTime, nullable, open, openString, someText, text, Uuid } from './scalar.ts'

export const gitHostKinds = ['github', 'local'] as const
export const grantStatuses = ['active', 'revoked', 'replaced'] as const

const RepositoryId = Type.String({ description: "The Git host's stable id, in decimal digits." })

/** A repository that a Session can start from. */
export const Repository = Type.Object(
  {
    grantId: Uuid,
    repositoryId: RepositoryId,
    provider: openString(gitHostKinds),
    fullName: Type.String({ description: 'The current `owner/name`.' }),
    private: Type.Boolean(),
    defaultBranch: nullable(
      Type.String({ description: 'In a repository without a commit: the branch that its first commit makes.' }),
    ),
    htmlUrl: Type.String({ format: 'uri' }),
  },
  { title: 'Repository', description: 'A repository that a Session can start from.', ...open },
)

export const RepositoryEnvelope = Type.Object({ repository: Repository }, { title: 'RepositoryEnvelope', ...open })

/** Why a page lacks the repositories of an account. */
export const missingReasons = ['late', 'rate_limited', 'unavailable', 'refused'] as const

/** An account of a Git host whose repositories an answer lacks. */
export const MissingAccount = Type.Object(
  {
    provider: openString(gitHostKinds),
    accountLogin: Type.String(),
    reason: openString(
      missingReasons,
      '`late`: the host did not answer in time, or has more repositories than one request reads. `rate_limited`, `unavailable`: it ' +
        'answers no requests now. `refused`: it no longer lets the service in.',
    ),
    retried: Type.Boolean({ description: 'A later page of this list asks the host again.' }),
  },
  { title: 'MissingAccount', description: 'An account of a Git host whose repositories an answer lacks.', ...open },
)

const missing = Type.Optional(
  Type.Array(MissingAccount, {
    description:
      'Accounts of which this answer lacks repositories, since their host did not give them; absent if there is none.',
  }),
)

/** A page of repositories. */
export const RepositoryPage = Type.Object(
  { repositories: Type.Array(Repository), nextCursor: nullable(Type.String()), hasMore: Type.Boolean(), missing },
  { title: 'RepositoryPage', description: 'A page of repositories.', ...open },
)

/** Branches of a repository. */
export const BranchList = Type.Object(
  { branches: Type.Array(Type.String()), hasMore: Type.Boolean({ description: 'Whether there may be others.' }) },
  { title: 'BranchList', description: 'Branches of a repository, in the order of their names.', ...open },
)

/** A grant, which lets an installation use a repository. */
export const RepositoryGrant = Type.Object(
  {
    id: Uuid,
    provider: openString(gitHostKinds),
    accountLogin: Type.String(),
    repositoryId: RepositoryId,
    fullName: Type.String({ description: 'The `owner/name` when the service last saw the repository.' }),
    status: openString(grantStatuses),
    createdAt: DateTime,
  },
  { title: 'RepositoryGrant', description: 'A grant, which lets an installation use a repository.', ...open },
)

export const RepositoryGrantPage = Type.Object(
  { grants: Type.Array(RepositoryGrant), nextCursor: nullable(Type.String()), hasMore: Type.Boolean(), missing },
  { title: 'RepositoryGrantPage', description: 'A page of grants, newest first.', ...open },
)

export const RepositoryGrantEnvelope = Type.Object(
  { grant: RepositoryGrant },
  { title: 'RepositoryGrantEnvelope', ...open },
)

/** What a review says of a pull request. */
const reviewStates = ['approved', 'changes_requested', 'commented'] as const

const localReviewLimits = { bodyCharacters: 20_000, comments: 50, pathCharacters: 4096, threadCharacters: 100 }

/** Body of `reviewLocalPull`. */
export const WriteLocalReview = Type.Object(
  {
    state: Type.Enum(reviewStates, { type: 'string', description: 'A comment is `commented`.' }),
    body: Type.Optional(text(localReviewLimits.bodyCharacters, { description: 'In Markdown.' })),
    comments: Type.Optional(
      Type.Array(
        Type.Object(
          {
            path: someText(localReviewLimits.pathCharacters, { description: 'A file of the head.' }),
            line: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
            threadId: Type.Optional(
              someText(localReviewLimits.threadCharacters, { description: 'The thread that it answers in.' }),
            ),
            body: someText(localReviewLimits.bodyCharacters),
          },
          closed,
        ),
        { maxItems: localReviewLimits.comments },
      ),
    ),
  },
  { title: 'WriteLocalReview', description: 'Reviews a pull request, or comments on it.', ...closed },
)

/** A review of a pull request of a local repository, or a comment on it. */
export const LocalReview = Type.Object(
  {
    id: Uuid,
    author: Type.Object({ id: Type.String(), name: Type.String() }, open),
    by: openString(['person', 'app_installation', 'service'], 'Who wrote it; `service` is Berth.'),
    state: openString(reviewStates),
    body: Type.String(),
    headOid: Type.String({ description: 'The head that it is about; the lines are its.' }),
    comments: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          threadId: Type.String(),
          path: Type.String(),
          line: nullable(Type.Integer()),
          body: Type.String(),
        },
        open,
      ),
    ),
    createdAt: DateTime,
  },
  {
    title: 'LocalReview',
    description: 'A review of a pull request of a local repository, or a comment on it.',
    ...open,
  },
)

export const LocalReviewEnvelope = Type.Object({ review: LocalReview }, { title: 'LocalReviewEnvelope', ...open })

/** A pull request of a repository that the service itself hosts. */
export const LocalPull = Type.Object(
  {
    number: Count,
    url: Type.String({ format: 'uri' }),
    title: Type.String(),
    body: Type.String(),
    draft: Type.Boolean(),
    state: openString(['open', 'merged', 'closed']),
    headBranch: Type.String(),
    headOid: Type.String(),
    baseBranch: Type.String(),
    mergeCommitOid: Type.Optional(Type.String()),
    mergeable: openString(['yes', 'no', 'unknown']),
    blockers: Type.Array(Type.String()),
    checks: Type.Array(PullCheck, { description: 'Checks of an open pull request.' }),
    reviews: Type.Array(LocalReview, { description: 'The latest reviews and comments, oldest first.' }),
  },
  { title: 'LocalPull', description: 'A pull request of a repository that the service itself hosts.', ...open },
)

export const LocalPullEnvelope = Type.Object({ pull: LocalPull }, { title: 'LocalPullEnvelope', ...open })

export type LocalPull = Static<typeof LocalPull>
export type LocalReview = Static<typeof LocalReview>
export type WriteLocalReview = Static<typeof WriteLocalReview>
export type Repository = Static<typeof Repository>
export type MissingAccount = Static<typeof MissingAccount>
export type RepositoryPage = Static<typeof RepositoryPage>
export type RepositoryGrant = Static<typeof RepositoryGrant>
export type RepositoryGrantPage = Static<typeof RepositoryGrantPage>
