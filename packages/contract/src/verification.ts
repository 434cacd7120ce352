import { type Static, Type } from 'typebox'
import { Count, closed, DateTime, nullable, open, Sha256, Uuid } from './scalar.ts'
import { Creator } from './session.ts'

/** States of a verification; the last four are its ends. */
export const verificationStates = ['queued', 'running', 'passed', 'failed', 'errored', 'cancelled'] as const

/** States of a check; the last three are its ends. */
export const checkStates = ['waiting', 'running', 'passed', 'failed', 'skipped'] as const

/** How a check of a verification went. */
export const CheckResult = Type.Object(
  {
    name: Type.String(),
    required: Type.Boolean({ description: 'Whether the verification fails with it.' }),
    state: Type.Enum(checkStates, {
      type: 'string',
      description: '`passed` means that it exited with 0; `skipped`, that the change touches none of its `paths`.',
    }),
    exitCode: Type.Optional(nullable(Type.Integer({ description: 'Null if it was stopped, or ended by a signal.' }))),
    timedOut: Type.Optional(Type.Boolean({ description: 'True if its time was over.' })),
    startedAt: Type.Optional(DateTime),
    durationMs: Type.Optional(Count),
    outputTail: Type.Optional(
      Type.String({ description: 'The last 8 KiB of what it wrote, while it runs so far; secrets are masked.' }),
    ),
    artifactId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The Artifact of the Session with what it wrote.' }),
    ),
  },
  { title: 'CheckResult', description: 'How a check of a verification went.', ...open },
)

/** Counts of the checks by their ends. */
export const CheckCounts = Type.Object({ passed: Count, failed: Count, skipped: Count }, open)

/** The checks of an environment, run on one revision in a sandbox that no agent has touched. */
export const Verification = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    revision: Sha256,
    tree: Type.String({ pattern: '^[a-f0-9]{40}$', description: "Git's name of the tree that is checked." }),
    state: Type.Enum(verificationStates, {
      type: 'string',
      description:
        '`failed`: a required check has failed. `errored`: the checks could not be run, as `error` says, which says nothing of the change.',
    }),
    environment: Type.Object({ id: Uuid, revision: Type.Integer({ minimum: 1 }) }, open),
    checks: Type.Array(CheckResult, { description: 'In their order; empty until it runs.' }),
    counts: CheckCounts,
    error: Type.Optional(
      Type.Object(
        {
          code: Type.String({
            description:
              'As `errorCode` of `svc.environment.apply`, `sandbox_unavailable`, or `worker_unavailable` if no worker had made its sandbox in 30 minutes.',
          }),
          outputTail: Type.Optional(Type.String({ description: 'The last 8 KiB of what setup wrote.' })),
        },
        { description: 'Why the checks could not be run; only in the state `errored`.', ...open },
      ),
    ),
    reusedFrom: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The verification that ran the same checks on the same tree, whose results these are.',
      }),
    ),
    requestedBy: Creator,
    createdAt: DateTime,
    startedAt: Type.Optional(DateTime),
    completedAt: Type.Optional(DateTime),
  },
  {
    title: 'Verification',
    description: 'The checks of an environment, run on one revision in a sandbox that no agent has touched.',
    ...open,
  },
)

/** Response of every operation on one verification. */
export const VerificationEnvelope = Type.Object(
  { verification: Verification },
  { title: 'VerificationEnvelope', ...open },
)

/** A page of verifications, newest first. */
export const VerificationPage = Type.Object(
  { verifications: Type.Array(Verification), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'VerificationPage', description: 'A page of verifications, newest first.', ...open },
)

/** Body of `createVerification`. */
export const CreateVerification = Type.Object(
  {
    revision: Sha256,
    fresh: Type.Boolean({
      default: false,
      description: 'Run the checks even if the Session has results of them on this tree.',
    }),
  },
  { title: 'CreateVerification', description: 'Verifies a reviewed revision.', ...closed },
)

/** `svc.verification.*`. */
export const VerificationChanged = Type.Object(
  {
    verificationId: Uuid,
    revision: Sha256,
    state: Type.String({ description: 'As `state` of the verification.' }),
    environmentId: Uuid,
    environmentRevision: Type.Integer({ minimum: 1 }),
    counts: Type.Optional(CheckCounts),
    reusedFrom: Type.Optional(Uuid),
    errorCode: Type.Optional(Type.String()),
  },
  { title: 'VerificationData', description: 'The checks of a revision have begun or ended.', ...open },
)

export type Verification = Static<typeof Verification>
export type VerificationPage = Static<typeof VerificationPage>
export type VerificationState = (typeof verificationStates)[number]
export type CheckResult = Static<typeof CheckResult>
export type CreateVerification = Static<typeof CreateVerification>
