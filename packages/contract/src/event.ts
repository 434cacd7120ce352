import { type Static, type TSchema, Type } from 'typebox'
import { BackgroundUpdated } from './background.ts'
import * as data from './event-data.ts'
import { EnvironmentApply, EnvironmentOutput, WorkspaceProgress } from './event-data-workspace.ts'
import { FollowUpAttempted, FollowUpEnded, FollowUpStarted } from './follow-up.ts'
import { PlanUpdated } from './plan.ts'
import { RevisionCreated } from './review.ts'
import { Count, DateTime, nullable, OpenObject, open, openString, Sha256, Uuid } from './scalar.ts'
import { EgressRefused } from './session-egress.ts'
import { VerificationChanged } from './verification.ts'

/** The families that webhooks subscribe to; Events without a family are never pushed. */
export type EventFamily = 'run' | 'interaction' | 'artifact' | 'publication' | 'revision'

/** `timeline` Events may have no `subject.runId`. */
export type EventVisibility = 'public' | 'transcript' | 'timeline'

interface EventKind {
  readonly family: EventFamily | null
  readonly visibility: EventVisibility
  readonly data: TSchema
}

const kind = <const Family extends EventFamily | null, Data extends TSchema>(
  family: Family,
  schema: Data,
  visibility: EventVisibility = 'public',
) => ({ family, visibility, data: schema })

/** The catalog of Events: family, visibility and the shape of `data`. */
export const eventCatalog = {
  'svc.run.started': kind('run', data.RunStarted),
  'svc.run.progress': kind(null, data.RunProgress),
  'svc.run.completed': kind('run', data.RunEnded),
  'svc.run.failed': kind('run', data.RunEnded),
  'svc.run.cancelled': kind('run', data.RunEnded),
  'svc.run.crashed': kind('run', data.RunEnded),
  'svc.environment.apply': kind(null, EnvironmentApply),
  'svc.environment.output': kind(null, EnvironmentOutput, 'transcript'),
  'svc.interaction.opened': kind('interaction', data.InteractionChanged),
  'svc.interaction.resolved': kind('interaction', data.InteractionChanged),
  'svc.interaction.expired': kind('interaction', data.InteractionChanged),
  'svc.artifact.created': kind('artifact', data.ArtifactCreated),
  'svc.artifact.omitted': kind('artifact', data.ArtifactOmitted),
  'svc.publication.created': kind('publication', data.PublicationChanged),
  'svc.publication.failed': kind('publication', data.PublicationChanged),
  'svc.publication.merge_succeeded': kind('publication', data.PublicationChanged),
  'svc.publication.merge_failed': kind('publication', data.PublicationChanged),
  'svc.followup.started': kind('publication', FollowUpStarted),
  'svc.followup.attempted': kind('publication', FollowUpAttempted),
  'svc.followup.ended': kind('publication', FollowUpEnded),
  'svc.verification.started': kind('publication', VerificationChanged),
  'svc.verification.completed': kind('publication', VerificationChanged),
  'svc.revision.created': kind('revision', RevisionCreated),
  'svc.message.created': kind(null, data.MessageCreated, 'transcript'),
  'svc.activity.completed': kind(null, data.ActivityCompleted, 'transcript'),
  'svc.plan.updated': kind(null, PlanUpdated, 'transcript'),
  'svc.background.updated': kind(null, BackgroundUpdated, 'transcript'),
  'svc.context.compacted': kind(null, data.ContextCompacted, 'transcript'),
  'svc.conversation.cleared': kind(null, data.ConversationCleared, 'transcript'),
  'svc.timeline.truncated': kind(null, data.TimelineTruncated, 'transcript'),
  'svc.delegation.started': kind(null, data.DelegationStarted, 'transcript'),
  'svc.delegation.completed': kind(null, data.DelegationCompleted),
  'svc.session.forked': kind(null, data.SessionForked),
  'svc.turn.steered': kind(null, data.TurnSteered),
  'svc.budget.reached': kind(null, data.BudgetReached),
  'svc.output.rejected': kind(null, data.OutputRejected, 'transcript'),
  'svc.egress.refused': kind(null, EgressRefused, 'timeline'),
  'svc.workspace.progress': kind(null, WorkspaceProgress),
  'svc.workspace.expired': kind(null, data.WorkspaceExpired),
} as const satisfies Record<string, EventKind>

/** The types that this build appends. Clients treat the set as open. */
export type EventType = keyof typeof eventCatalog

/** The names of the catalog. */
export const eventTypes = Object.keys(eventCatalog) as readonly EventType[]

/** The `data` of an Event type. */
export type EventData<T extends EventType> = Static<(typeof eventCatalog)[T]['data']>

/** One fact of a Session's log. */
export const Event = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Stable across replays; use it to drop duplicates.' }),
    type: openString(eventTypes, 'The set is open; ignore types you do not know.'),
    createdAt: DateTime,
    sequence: Type.Integer({
      minimum: 1,
      description: "Position in the Session's log, without gaps; it is also the cursor for reading on.",
    }),
    visibility: Type.Optional(openString(['public', 'transcript', 'timeline'])),
    subject: Type.Object({ sessionId: Uuid, runId: Type.Optional(Uuid) }, open),
    data: OpenObject,
  },
  { title: 'Event', description: "One fact of a Session's log.", ...open },
)

/** A page of the log, in order. */
export const EventPage = Type.Object(
  {
    events: Type.Array(Event),
    lastSequence: Type.Integer({
      minimum: 0,
      description: 'The newest sequence of the Session; read on while it is greater than that of the last Event.',
    }),
  },
  { title: 'EventPage', description: 'A page of the log, in order.', ...open },
)

/** What a log comes to at one of its Events. */
export const LogDigest = Type.Object(
  {
    sequence: Type.Integer({
      minimum: 0,
      description: 'The Event up to which the log is digested; 0 if there are none.',
    }),
    digest: {
      ...nullable(Sha256),
      description:
        "SHA-256 over the 32 bytes of the digest before it and the Event's text, in UTF-8, exactly as a page or a stream carries it. Null for an Event that is older than the chain, and if the Event is missing.",
    },
    beginsAt: {
      ...nullable(Type.Integer({ minimum: 1 })),
      description:
        'Sequence of the first Event of the chain: 1, unless the log is older than chains. The digest before it is SHA-256 of the text `berth log <session id> from <this number>`. Null while there is none.',
    },
    lastSequence: Count,
  },
  {
    title: 'LogDigest',
    description:
      'What the log comes to at one of its Events: whoever keeps it finds out later whether an Event up to it was changed, removed, added or moved.',
    ...open,
  },
)

/** An Event as a reader receives it. */
export type Event = Static<typeof Event>

/** An Event of a known type, as its producer writes it. */
export type EventOf<T extends EventType> = Omit<Event, 'type' | 'data'> & {
  readonly type: T
  readonly data: EventData<T>
}

export type EventPage = Static<typeof EventPage>
export type LogDigest = Static<typeof LogDigest>
