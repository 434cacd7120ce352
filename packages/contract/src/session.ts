import { type Static, Type } from 'typebox'
import { limits, originLimits, sourceLimits } from './limits.ts'
import { Count, closed, DateTime, nullable, open, openString, someText, text, Uuid } from './scalar.ts'

/** Id of an agent runtime (interface 2.2). */
export const RuntimeId = Type.String({ maxLength: limits.runtimeCharacters, pattern: '^[a-z0-9][a-z0-9-]*$' })

/** Id or alias of a model (interface 2.2). */
export const ModelId = someText(limits.modelCharacters)

const originFields = {
  tenantKey: Type.Optional(text(originLimits.tenantKey, { description: 'Opaque id of the external tenant.' })),
  objectType: Type.Optional(text(originLimits.objectType, { description: "The caller's name for the record's kind." })),
  objectId: Type.Optional(text(originLimits.objectId, { description: "The caller's id of the record." })),
  endUserId: Type.Optional(text(originLimits.endUserId, { description: 'One-way hash; never personal data.' })),
  label: Type.Optional(text(originLimits.label)),
  url: Type.Optional(
    Type.String({
      format: 'uri',
      maxLength: limits.urlCharacters,
      pattern: '^[Hh][Tt][Tt][Pp][Ss]://[^\\s]+$',
      description: 'HTTPS link back to the record.',
    }),
  ),
}

/** Correlation metadata given at creation (interface 2.3). */
export const Origin = Type.Object(originFields, { title: 'Origin', ...open })

/** The repository a Session's workspace starts from, pinned to a commit (interface 2.3). */
export const Source = Type.Object(
  {
    kind: Type.String(),
    grantId: Uuid,
    repositoryId: Type.String(),
    label: Type.String(),
    private: Type.Boolean(),
    baseBranch: Type.String(),
    baseOid: Type.String({ pattern: '^[a-f0-9]{40}$' }),
  },
  { title: 'Source', ...open },
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

/** Whether a next Turn can be admitted, and what it would carry on from (interface 2.4). */
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
        description: 'Present exactly when a next Turn will not carry previous work.',
      }),
    ),
    sealedByRunId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The Run whose checkpoint a next Turn continues from.' }),
    ),
  },
  { title: 'Continuation', ...open },
)

/** Who made a resource (interface 2.2). */
export const Creator = Type.Object(
  { kind: openString(['app_installation', 'person']), id: Type.String() },
  { title: 'Creator', ...open },
)

/** A caller-owned conversation with an agent (interface 2.2). */
export const Session = Type.Object(
  {
    id: Uuid,
    sessionUrl: Type.String({ format: 'uri', description: 'Page to hand the Session to a person.' }),
    organizationId: Uuid,
    title: Type.String(),
    origin: Type.Optional(Origin),
    source: Type.Optional(Source),
    model: Type.Optional(Type.String({ description: 'Model of the next Turn.' })),
    runtime: Type.Optional(Type.String({ description: 'Settled foreign runtime; absent for the native one.' })),
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
      description: 'Advisory; may lag the Run. Branch on the Run and on Events.',
    }),
    createdBy: Creator,
    activeRunId: Type.Optional(
      Type.String({ format: 'uuid', description: 'Present exactly while a Run of the Session has not ended.' }),
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
          revision: nullable(Type.Integer({ minimum: 1, description: 'Last applied; null before the first apply.' })),
        },
        open,
      ),
    ),
    parent: nullable(Type.Object({ sessionId: Uuid, runId: Uuid }, open)),
  },
  { title: 'Session', description: 'A conversation with an agent.', ...open },
)

/** Answer of every read and write of one Session (interface 2.2). */
export const SessionEnvelope = Type.Object({ session: Session }, { title: 'SessionEnvelope', ...open })

/** A page of Sessions, most recently changed first (interface 4.4). */
export const SessionPage = Type.Object(
  { sessions: Type.Array(Session), nextCursor: nullable(Type.String()), hasMore: Type.Boolean() },
  { title: 'SessionPage', ...open },
)

const EnvironmentReference = nullable(Type.Object({ id: Uuid }, closed))

/** Body that creates a Session; `{}` makes an idle one (interface 4.4). */
export const CreateSession = Type.Object(
  {
    title: Type.Optional(someText(limits.titleCharacters)),
    initialTurn: Type.Optional(Type.Object({ id: Uuid, message: someText(limits.messageCharacters) }, closed)),
    model: Type.Optional(nullable(ModelId)),
    runtime: Type.Optional(nullable(RuntimeId)),
    origin: Type.Optional(Type.Object(originFields, closed)),
    source: Type.Optional(
      Type.Object(
        {
          grantId: Uuid,
          repositoryId: Type.String({ pattern: '^[0-9]+$', maxLength: sourceLimits.repositoryId }),
          baseBranch: Type.Optional(someText(sourceLimits.baseBranch, { pattern: '^[^\\r\\n]*$' })),
          label: Type.Optional(text(sourceLimits.label)),
          kind: Type.Optional(text(sourceLimits.kind)),
        },
        closed,
      ),
    ),
    environment: Type.Optional(EnvironmentReference),
  },
  { title: 'CreateSession', ...closed },
)

/** Body that changes a Session; at least one field (interface 4.4). */
export const UpdateSession = Type.Object(
  {
    title: Type.Optional(someText(limits.titleCharacters)),
    environment: Type.Optional(EnvironmentReference),
    model: Type.Optional(nullable(ModelId)),
    runtime: Type.Optional(nullable(RuntimeId)),
  },
  { title: 'UpdateSession', minProperties: 1, ...closed },
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
export type CreateSession = Static<typeof CreateSession>
export type UpdateSession = Static<typeof UpdateSession>
