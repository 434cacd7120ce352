import { type Static, Type } from 'typebox'
import { Background } from './background.ts'
import { BaseOid } from './commit.ts'
import { limits, originLimits, sourceLimits } from './limits.ts'
import { OutputRequest } from './output.ts'
import { Plan } from './plan.ts'
import { runOutcomeFields, runStatuses } from './run.ts'
import { Count, closed, DateTime, nullable, open, openString, Sha256, someText, text, Uuid } from './scalar.ts'
import { sessionStatuses } from './session-status.ts'

/** Id of an agent runtime. */
export const RuntimeId = Type.String({ maxLength: limits.runtimeCharacters, pattern: '^[a-z0-9][a-z0-9-]*$' })

/** Id or alias of a model. */
export const ModelId = someText(limits.modelCharacters)

/** How hard a model may think. */
export const efforts = ['minimal', 'low', 'medium', 'high', 'max'] as const
export type Effort = (typeof efforts)[number]
const EffortChoice = Type.Unsafe<Effort | null>({
  type: ['string', 'null'],
  enum: [...efforts, null],
  description: "How hard the model may think; null for the model's default.",
})

/** The most that a Session may spend on models. */
export const SessionBudget = Type.Object(
  {
    costUsd: Type.Number({
      minimum: 0.01,
      maximum: 1e9,
      description: 'US dollars for models, over all Runs. A Run that reaches it waits for people.',
    }),
  },
  closed,
)

const originFields = {
  tenantKey: Type.Optional(text(originLimits.tenantKey, { description: "The caller's opaque id of its tenant." })),
  objectType: Type.Optional(
    text(originLimits.objectType, { description: "The caller's name for the kind of record." }),
  ),
  objectId: Type.Optional(text(originLimits.objectId, { description: "The caller's id of the record." })),
  endUserId: Type.Optional(
    text(originLimits.endUserId, { description: "A one-way hash of the user's id; never personal data." }),
  ),
  label: Type.Optional(text(originLimits.label)),
  url: Type.Optional(
    Type.String({
      format: 'uri',
      maxLength: limits.urlCharacters,
      pattern: '^[Hh][Tt][Tt][Pp][Ss]://[^\\s]+$',
      description: 'HTTPS link to the record.',
    }),
  ),
}

/** Correlation metadata, given at creation. */
export const Origin = Type.Object(originFields, {
  title: 'Origin',
  description: "Correlation metadata that links a Session to the caller's own records.",
  ...open,
})

/** The repository that a Session's workspace starts from, pinned to a commit. */
export const Source = Type.Object(
  {
    kind: Type.String(),
    grantId: Uuid,
    repositoryId: Type.String(),
    label: Type.String(),
    private: Type.Boolean(),
    baseBranch: Type.String({
      description: 'In a repository without a commit: the branch that its first commit makes.',
    }),
    baseOid: BaseOid,
  },
  {
    title: 'Source',
    description: "The repository that a Session's workspace starts from, pinned to a commit.",
    ...open,
  },
)

export const sessionPhases = ['idle', 'queued', 'provisioning', 'running', 'awaiting', 'finalizing'] as const
export const continuationStates = ['live', 'fresh', 'restorable', 'unavailable'] as const
export const continuationReasons = [
  'no_prior_work',
  'session_archived',
  'checkpoint_missing',
  'checkpoint_incompatible',
  'source_unavailable',
] as const

/** Says whether the Session can admit a next Turn, and which work that Turn would continue. */
export const Continuation = Type.Object(
  {
    canContinue: Type.Boolean(),
    state: Type.Enum(continuationStates, { type: 'string' }),
    conversation: Type.Object(
      { fidelity: Type.Enum(['live', 'exact', 'result_only', 'none'], { type: 'string' }) },
      open,
    ),
    workspace: Type.Object({ fidelity: Type.Enum(['live', 'portable_tree', 'none'], { type: 'string' }) }, open),
    reason: Type.Optional(
      Type.Enum(continuationReasons, {
        type: 'string',
        description: 'Why the next Turn will not continue earlier work; absent if it will.',
      }),
    ),
    sealedByRunId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The Run from whose checkpoint the next Turn continues.' }),
    ),
  },
  {
    title: 'Continuation',
    description: 'Says whether the Session can admit a next Turn, and which work that Turn would continue.',
    ...open,
  },
)

/** The creator of a resource. */
export const Creator = Type.Object(
  { kind: openString(['app_installation', 'person']), id: Type.String() },
  { title: 'Creator', description: 'The installation or the person that created a resource.', ...open },
)

/** How the newest Run of a Session stands. */
export const LastRun = Type.Object(
  {
    id: Uuid,
    turnSequence: Type.Integer({ minimum: 0, description: 'Sequence of the Turn that began it.' }),
    status: Type.Enum(runStatuses, { type: 'string' }),
    stopReason: runOutcomeFields.stopReason,
    errorCode: runOutcomeFields.errorCode,
    turns: Type.Optional(Type.Integer({ minimum: 0, description: 'Calls of the model.' })),
  },
  { description: 'The newest Run since the Session was made or reset; null if there is none.', ...open },
)

/** The newest revision of a Session's changes. */
export const Changes = Type.Object(
  { revision: Sha256, files: Count, additions: Count, deletions: Count },
  {
    description:
      'The newest revision: of the end of a Run, or of a review since. It can be read without a sandbox. Null before the first change.',
    ...open,
  },
)

/** A conversation with an agent, owned by the caller. */
export const Session = Type.Object(
  {
    id: Uuid,
    sessionUrl: Type.String({ format: 'uri', description: "URL of the Session's page, for people." }),
    organizationId: Uuid,
    title: Type.String({
      description:
        'If the caller gave none, the first sentence of the first message, and a better one by the agent if it has one.',
    }),
    origin: Type.Optional(Origin),
    source: Type.Optional(Source),
    model: Type.Optional(Type.String({ description: 'Model of the next Turn.' })),
    effort: nullable(
      openString(efforts, "How hard the model of the next Turn may think; null for the model's default."),
    ),
    runtime: Type.Optional(
      Type.String({ description: 'The runtime that the Session has settled on; absent for the native one.' }),
    ),
    workspace: Type.Object(
      {
        state: Type.Enum(['unavailable', 'attached', 'expired'], { type: 'string' }),
        expiresAt: nullable(DateTime),
      },
      open,
    ),
    continuation: Continuation,
    phase: Type.Enum(sessionPhases, {
      type: 'string',
      description: 'For display only, because it may lag behind. Base decisions on the Run and on Events.',
    }),
    status: openString(
      sessionStatuses,
      'For people, and for lists: the one word that says whether somebody has to do something. New ones may be added.',
    ),
    lastRun: nullable(LastRun),
    changes: nullable(Changes),
    plan: Type.Optional(nullable(Plan)),
    background: Type.Optional(Background),
    backgroundTruncated: Type.Optional(
      Type.Boolean({ description: 'Set if commands were left out of `background`; those that run come first.' }),
    ),
    createdBy: Creator,
    initiatedBy: Type.Optional(Creator),
    activeRunId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The Run that has not ended; absent if there is none.' }),
    ),
    createdAt: DateTime,
    updatedAt: DateTime,
    lastEventSequence: Count,
    archivedAt: Type.Optional(DateTime),
    environment: nullable(
      Type.Object(
        {
          id: Uuid,
          name: Type.String(),
          revision: nullable(
            Type.Integer({ minimum: 1, description: 'The revision applied last; null before the first.' }),
          ),
        },
        open,
      ),
    ),
    budget: nullable(
      Type.Object(
        {
          costUsd: SessionBudget.properties.costUsd,
          spentUsd: Type.Number({
            minimum: 0,
            description:
              'What counts against it. A request whose cost was lost counts as the most that it may have cost.',
          }),
        },
        { description: 'Null: none.', ...open },
      ),
    ),
    parent: nullable(
      Type.Object(
        { sessionId: Uuid, runId: Uuid },
        {
          description: 'The Session that this one was forked from, and the Run at whose end; null for others.',
          ...open,
        },
      ),
    ),
  },
  { title: 'Session', description: 'A conversation with an agent, which outlives its sandboxes.', ...open },
)

/** Response of every operation on one Session. */
export const SessionEnvelope = Type.Object({ session: Session }, { title: 'SessionEnvelope', ...open })

/** A page of Sessions, most recently changed first. */
export const SessionPage = Type.Object(
  { sessions: Type.Array(Session), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'SessionPage', description: 'A page of Sessions, most recently changed first.', ...open },
)

const EnvironmentReference = nullable(Type.Object({ id: Uuid }, closed))

/** Body of `createSession`; `{}` creates an idle Session. */
export const CreateSession = Type.Object(
  {
    title: Type.Optional(someText(limits.titleCharacters)),
    initialTurn: Type.Optional(
      Type.Object(
        { id: Uuid, message: someText(limits.messageCharacters), output: Type.Optional(OutputRequest) },
        closed,
      ),
    ),
    model: Type.Optional(nullable(ModelId)),
    effort: Type.Optional(EffortChoice),
    runtime: Type.Optional(nullable(RuntimeId)),
    origin: Type.Optional(Type.Object(originFields, closed)),
    source: Type.Optional(
      Type.Object(
        {
          grantId: Uuid,
          repositoryId: Type.String({ pattern: '^[0-9]+$', maxLength: sourceLimits.repositoryId }),
          baseBranch: Type.Optional(
            someText(sourceLimits.baseBranch, {
              pattern: '^[^\\r\\n]*$',
              description:
                "By default the host's default branch. In a repository without a commit it may be any name: the first commit makes the branch.",
            }),
          ),
          label: Type.Optional(text(sourceLimits.label)),
          kind: Type.Optional(text(sourceLimits.kind)),
        },
        closed,
      ),
    ),
    environment: Type.Optional(EnvironmentReference),
    budget: Type.Optional(nullable(SessionBudget)),
  },
  { title: 'CreateSession', description: 'Creates a Session; an empty object creates an idle one.', ...closed },
)

/** Body of `forkSession`; `{}` forks at the newest sealed Run, under an id that the service chooses. */
export const ForkSession = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'Id of the new Session. With it, the request can be repeated safely.',
      }),
    ),
    runId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The Run whose end the fork starts from; absent: the newest sealed one.',
      }),
    ),
    title: Type.Optional(someText(limits.titleCharacters)),
  },
  { title: 'ForkSession', description: 'Makes a new Session from where a Run ended.', ...closed },
)

/** Body of `updateSession`; it has at least one field. */
export const UpdateSession = Type.Object(
  {
    title: Type.Optional(someText(limits.titleCharacters)),
    environment: Type.Optional(EnvironmentReference),
    budget: Type.Optional(nullable(SessionBudget)),
    model: Type.Optional(nullable(ModelId)),
    effort: Type.Optional(EffortChoice),
    runtime: Type.Optional(nullable(RuntimeId)),
  },
  { title: 'UpdateSession', description: 'Changes the given fields of a Session.', minProperties: 1, ...closed },
)

export type Session = Static<typeof Session>
export type SessionPage = Static<typeof SessionPage>
export type SessionPhase = (typeof sessionPhases)[number]
export type Continuation = Static<typeof Continuation>
export type ContinuationState = (typeof continuationStates)[number]
export type ContinuationReason = (typeof continuationReasons)[number]
export type Origin = Static<typeof Origin>
export type Source = Static<typeof Source>
export type Creator = Static<typeof Creator>
export type ForkSession = Static<typeof ForkSession>
export type CreateSession = Static<typeof CreateSession>
export type UpdateSession = Static<typeof UpdateSession>
