import { type Static, Type } from 'typebox'
import { BaseOid, CommitOid } from './commit.ts'
import { Count, DateTime, nullable, open, openString, Sha256 } from './scalar.ts'

/** One changed path of a review. */
export const ReviewFile = Type.Object(
  {
    path: Type.String({ description: "The path; if it is not valid UTF-8, in git's quoted form." }),
    previousPath: Type.Optional(Type.String({ description: 'The old path; with `renamed`.' })),
    status: Type.Enum(['added', 'modified', 'deleted', 'renamed'], { type: 'string' }),
    additions: Count,
    deletions: Count,
    binary: Type.Boolean(),
    previousMode: Type.Optional(
      Type.String({ description: "Git's mode before the change, if the change is of the mode, such as `100644`." }),
    ),
    mode: Type.Optional(
      Type.String({
        description:
          "Git's mode, if it has changed or an added file is not a plain one: `100755` is executable, `120000` a symbolic link, `160000` a submodule.",
      }),
    ),
    target: Type.Optional(Type.String({ description: 'The path that an added or changed symbolic link names.' })),
  },
  { title: 'ReviewFile', description: 'One changed path of a review.', ...open },
)

/** The kinds of signals, in the order in which a review has them. */
export const signalKinds = [
  'secret',
  'hidden_characters',
  'test_removed',
  'test_skipped',
  'test_narrowed',
  'assertion_removed',
  'ci_changed',
  'install_script',
  'mode_changed',
  'symbolic_link',
  'outside',
  'debugging',
  'manifest_without_lock',
  'lock_without_manifest',
  'binary',
  'generated',
  'large',
  'unread',
] as const

/** A fact of a change that its readers must not miss. */
export const ReviewSignal = Type.Object(
  {
    kind: openString(
      signalKinds,
      '`outside`: no message of the Session names the file, though one names others. `unread`: the lines of `count` files, of which `path` is the first, go beyond the bounds within which lines are looked at.',
    ),
    path: Type.String(),
    count: Type.Integer({ minimum: 1, description: 'How many lines show it; 1 if it is the file as a whole.' }),
    lines: Type.Array(
      Type.Object(
        { side: Type.Enum(['before', 'after'], { type: 'string' }), number: Type.Integer({ minimum: 1 }) },
        open,
      ),
      {
        description: 'The first five of the lines, numbered before or after the change; none if it is the whole file.',
      },
    ),
    detail: Type.Optional(Type.String({ description: 'The modes, the target of a link, or the size.' })),
    digest: Type.String({
      pattern: '^[a-f0-9]{64}$',
      description: 'Tells what was found from another find of this kind in this file, wherever its lines stand.',
    }),
  },
  { title: 'ReviewSignal', description: 'A fact of a change that its readers must not miss; no verdict.', ...open },
)

/** The changes of a Session, as an immutable revision. */
export const Review = Type.Object(
  {
    revision: Sha256,
    baseOid: BaseOid,
    headTree: CommitOid,
    targetBranch: Type.String({ description: 'The branch that the Session started from.' }),
    files: Type.Array(ReviewFile),
    additions: Count,
    deletions: Count,
    patch: Type.String({
      description: 'A unified diff, cut at 1 MiB. It is for reading: bytes that are not UTF-8 stand as U+FFFD.',
    }),
    patchTruncated: Type.Boolean({ description: 'True if `patch` was cut.' }),
    notes: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Sentences about the workspace: paths that are left out, files that are taken in a special way, and warnings of git, which begin with `git: `. The last one says how many had no room.',
      }),
    ),
    signals: Type.Array(ReviewSignal, {
      description:
        'Facts of the change that its readers must not miss, by kind. They are facts of the lines, no verdict.',
    }),
    createdAt: DateTime,
  },
  { title: 'Review', description: 'The changes of a Session, as an immutable revision.', ...open },
)

/** `svc.revision.created`: the tree at the end of a Run, if it differs from that of the Event before. */
export const RevisionCreated = Type.Object(
  {
    revision: Sha256,
    runId: Type.Optional(Type.String({ format: 'uuid', description: 'The Run that ended with it.' })),
    baseOid: BaseOid,
    headTree: CommitOid,
    targetBranch: Type.String(),
    files: Type.Integer({
      minimum: 0,
      description: 'Changed files against the base; 0 if nothing is left to publish.',
    }),
    additions: Count,
    deletions: Count,
  },
  {
    title: 'RevisionCreatedData',
    description: 'A Run has changed the tree. Its revision is stored for good, and can be reviewed without a sandbox.',
    ...open,
  },
)

/** One file of a stored review. */
export const ReviewFileDiff = Type.Object(
  {
    revision: Sha256,
    number: Count,
    file: ReviewFile,
    patch: nullable(
      Type.String({
        description:
          'The unified diff of the file, as in `patch` of the review; null if its lines go beyond what was stored.',
      }),
    ),
    truncated: Type.Boolean({ description: 'True if `patch` was cut.' }),
    expandable: Type.Boolean({
      description: 'Whether more unchanged lines than the three of a patch can be asked for.',
    }),
  },
  { title: 'ReviewFileDiff', ...open },
)

export type ReviewFileDiff = Static<typeof ReviewFileDiff>

/** Response of `listStoredReviews`. */
export const StoredReviewList = Type.Object(
  {
    reviews: Type.Array(Type.Object({ revision: Sha256, createdAt: DateTime }, open), {
      description: 'At most 20, the newest first.',
    }),
  },
  { title: 'StoredReviewList', ...open },
)

/** Response of `reviewRepository`. */
export const ReviewEnvelope = Type.Object({ review: Review }, { title: 'ReviewEnvelope', ...open })

export type Review = Static<typeof Review>
export type ReviewFile = Static<typeof ReviewFile>
export type ReviewSignal = Static<typeof ReviewSignal>
export type SignalKind = (typeof signalKinds)[number]
