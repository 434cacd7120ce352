import { type Static, Type } from 'typebox'
import { CommitOid } from './commit.ts'
import { Count, DateTime, open, Sha256 } from './scalar.ts'

/** One changed path of a review (completions, Repositories, review, publication, merge). */
export const ReviewFile = Type.Object(
  {
    path: Type.String({ description: "As it is where it is UTF-8, else in git's quoted form." }),
    previousPath: Type.Optional(Type.String({ description: 'With `renamed`.' })),
    status: Type.Enum(['added', 'modified', 'deleted', 'renamed'], { type: 'string' }),
    additions: Count,
    deletions: Count,
    binary: Type.Boolean(),
  },
  { title: 'ReviewFile', ...open },
)

/** What a Session changed, as an immutable revision (interface 4.9). */
export const Review = Type.Object(
  {
    revision: Sha256,
    baseOid: CommitOid,
    headTree: CommitOid,
    targetBranch: Type.String(),
    files: Type.Array(ReviewFile),
    additions: Count,
    deletions: Count,
    patch: Type.String({ description: 'A unified diff of at most 1 MiB.' }),
    patchTruncated: Type.Boolean(),
    createdAt: DateTime,
  },
  { title: 'Review', description: 'The changes of a Session, immutable.', ...open },
)

/** Answer of a review's read. */
export const ReviewEnvelope = Type.Object({ review: Review }, { title: 'ReviewEnvelope', ...open })

export type Review = Static<typeof Review>
export type ReviewFile = Static<typeof ReviewFile>
