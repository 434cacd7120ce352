import { type Static, Type } from 'typebox'
import { capabilities, permissions, roles } from './capability.ts'
import { Event } from './event.ts'
import { Interaction, interactionKinds } from './interaction.ts'
import { limits } from './limits.ts'
import { Merge, mergeStatuses } from './merge.ts'
import { Publication } from './publication.ts'
import { Run, timeField, usageFields } from './run.ts'
import { Count, closed, DateTime, nullable, open, openString, someText, Uuid } from './scalar.ts'
import { LastRun, Session, sessionPhases } from './session.ts'
import { sessionStatuses } from './session-status.ts'

/** A browser in which a person is signed in to the console. */
const shared = {
  id: Uuid,
  createdAt: DateTime,
  lastUsedAt: Type.String({ format: 'date-time', description: 'To the minute.' }),
  endsAt: Type.String({ format: 'date-time', description: 'When it ends at the latest.' }),
}

export const BrowserSession = Type.Object(
  {
    ...shared,
    address: nullable(Type.String({ description: 'Client address of the sign-in.' })),
    agent: nullable(Type.String({ description: '`User-Agent` of the sign-in.' })),
    current: Type.Boolean({ description: 'Whether this request came from it.' }),
  },
  { title: 'BrowserSession', ...open },
)

export const BrowserSessionList = Type.Object(
  { sessions: Type.Array(BrowserSession) },
  { title: 'BrowserSessionList', ...open },
)

/** What a service offers its page; the page hides or disables the rest. */
const ConsoleFeatures = Type.Object(
  {
    transcription: Type.Boolean({ description: 'Recordings can be transcribed.' }),
    github: Type.Boolean({ description: 'A GitHub App is configured, so GitHub can be connected.' }),
    billing: Type.Boolean({ description: 'The service charges for use.' }),
    triggers: Type.Boolean({ description: 'Sessions can be started by triggers.' }),
    accountsAt: Type.Optional(
      Type.String({
        format: 'uri',
        description: 'Where people have their accounts, if that is a service with another database.',
      }),
    ),
  },
  { title: 'ConsoleFeatures', description: 'What this service offers its page.', ...open },
)

const ConsoleMembership = Type.Object(
  {
    id: Uuid,
    organization: Type.Object({ id: Uuid, name: Type.String() }, open),
    role: Type.Enum(roles, { type: 'string' }),
    capabilities: Type.Array(openString([...capabilities, ...permissions], 'What the person may do there.')),
  },
  { title: 'ConsoleMembership', ...open },
)

/** Who is signed in at a browser. */
export const ConsoleIdentity = Type.Object(
  {
    session: Type.Object(
      {
        ...shared,
        signedInAt: Type.String({ format: 'date-time', description: 'When the person last proved who they are.' }),
        recentUntil: Type.String({
          format: 'date-time',
          description: 'Until when operations that need a recent sign-in are allowed.',
        }),
      },
      open,
    ),
    user: Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }, open),
    memberships: Type.Array(ConsoleMembership, { description: 'Live ones, the last used first.' }),
    /** The membership that was chosen at the sign-in. */
    membershipId: nullable(Type.String({ format: 'uuid', description: 'The membership chosen at the sign-in.' })),
    serverTime: DateTime,
    features: ConsoleFeatures,
  },
  { title: 'ConsoleIdentity', ...open },
)

export const ReturnTo = Type.Object(
  {
    returnTo: Type.Optional(
      someText(1024, {
        description: 'Path of the page to return to; anything else than a path of the console is `/`.',
      }),
    ),
  },
  { title: 'ReturnTo', ...closed },
)

/** Where the browser goes next. */
export const GoTo = Type.Object({ url: Type.String({ format: 'uri' }) }, { title: 'GoTo', ...open })

export type BrowserSession = Static<typeof BrowserSession>
export type ConsoleFeatures = Static<typeof ConsoleFeatures>
export type ConsoleIdentity = Static<typeof ConsoleIdentity>

/** What lists show of a Session beside the Session itself, for one person. */
export const SessionState = Type.Object(
  {
    id: Uuid,
    title: Type.String(),
    lastEventSequence: Count,
    updatedAt: DateTime,
    phase: Type.Enum(sessionPhases, { type: 'string' }),
    status: Type.Enum(sessionStatuses, { type: 'string', description: 'As in the Session.' }),
    lastRun: nullable(LastRun),
    archived: Type.Boolean(),
    attention: Type.Union([
      Type.Null(),
      Type.Object(
        {
          openInteractions: Count,
          kind: Type.Enum(interactionKinds, { type: 'string', description: 'Kind of the one that is due first.' }),
          deadline: Type.Optional(DateTime),
        },
        open,
      ),
    ]),
    workLost: Type.Boolean({
      description:
        'Whether nothing of the last Run was kept, within the last thirty days: a person has to reset or archive it.',
    }),
    unread: Type.Boolean({
      description:
        'Whether there are Events since the person last looked. Always false if they neither started nor opened it.',
    }),
    pinned: Type.Boolean(),
    snoozed: nullable(
      Type.Object(
        { until: Type.Optional(DateTime) },
        {
          description:
            'The person wants to see it later: at a time, or as soon as an Interaction opens or a Run ends. Null: now.',
          ...open,
        },
      ),
    ),
    viewedMarks: Type.Integer({
      minimum: 0,
      description: "Grows with each change of the person's marks of viewed files.",
    }),
    costUsd: Type.Number({ minimum: 0, description: 'Cost of the Runs that have ended, as far as it is known.' }),
    pull: Type.Union(
      [
        Type.Null(),
        Type.Object(
          {
            number: Type.Integer(),
            url: Type.String({ format: 'uri' }),
            draft: Type.Boolean(),
            merge: Type.Union([Type.Null(), Type.Enum(mergeStatuses, { type: 'string' })], {
              description: 'Where its newest Merge stands.',
            }),
          },
          open,
        ),
      ],
      { description: 'The pull request that was delivered last.' },
    ),
    startedBy: Type.Union([Type.Null(), Type.Object({ id: Uuid, name: Type.String() }, open)], {
      description: 'The person who started the Session; null if no person did.',
    }),
    startedThrough: Type.Union(
      [
        Type.Null(),
        Type.Object(
          { kind: openString(['integration', 'trigger'], 'New ones may be added.'), name: Type.String() },
          open,
        ),
      ],
      { description: 'What started the Session if no person did.' },
    ),
  },
  { title: 'SessionState', ...open },
)

export type SessionState = Static<typeof SessionState>

export const SessionStatePage = Type.Object(
  {
    sessions: Type.Array(Type.Object({ session: Session, state: SessionState }, open)),
    nextCursor: nullable(Type.String()),
    hasMore: Type.Boolean(),
    remaining: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 10_000, description: 'How many follow the page; 10,000 may be more.' }),
    ),
  },
  { title: 'SessionStatePage', ...open },
)

export type SessionStatePage = Static<typeof SessionStatePage>

export const SessionStateEnvelope = Type.Object({ state: SessionState }, { title: 'SessionStateEnvelope', ...open })

export const MarkRead = Type.Object(
  { sequence: Type.Integer({ minimum: 0, description: 'Newest Event that the person has seen.' }) },
  { title: 'MarkRead', ...closed },
)

export const MarkSession = Type.Object(
  {
    pinned: Type.Optional(Type.Boolean()),
    snoozed: Type.Optional(
      nullable(
        Type.Object(
          { until: Type.Optional(DateTime) },
          { description: 'Without a time, until the Session needs the person. Null ends it.', ...closed },
        ),
      ),
    ),
  },
  { title: 'MarkSession', minProperties: 1, ...closed },
)

const ViewedFile = {
  path: someText(4200, {
    description: 'Path of the file, as the review has it; of a signal, `/signals/{kind}/{path}`.',
  }),
  digest: someText(5000, { description: 'Tells one change of the file from the next; the client chooses it.' }),
}

/** Response of `listViewedFiles`. */
export const ViewedFiles = Type.Object(
  {
    marks: Type.Integer({ minimum: 0, description: '`viewedMarks` of the state that has these marks.' }),
    files: Type.Array(Type.Object(ViewedFile, open), { description: 'The newest marks, at most 2000.' }),
  },
  { title: 'ViewedFiles', ...open },
)

export type ViewedFiles = Static<typeof ViewedFiles>

export const MarkFileViewed = Type.Object(
  { ...ViewedFile, viewed: Type.Boolean() },
  { title: 'MarkFileViewed', ...closed },
)

export const ViewedMarks = Type.Object({ marks: Type.Integer({ minimum: 0 }) }, { title: 'ViewedMarks', ...open })

/** The message that waits in a Session until its Run ends. */
export const NextTurn = Type.Object(
  {
    turnId: Uuid,
    message: Type.String(),
    writtenBy: Type.Object({ id: Uuid, name: Type.String() }, open),
    writtenAt: DateTime,
    refused: nullable(
      Type.String({ description: 'Code of the refusal of the Turn: the message is given back. Null while it waits.' }),
    ),
  },
  { title: 'NextTurn', ...open },
)

export const NextTurnEnvelope = Type.Object(
  { nextTurn: Type.Union([Type.Null(), NextTurn]) },
  { title: 'NextTurnEnvelope', ...open },
)

export const PutNextTurn = Type.Object(
  {
    turnId: Type.String({
      format: 'uuid',
      description: 'Id of the Turn that the message becomes; the caller makes it.',
    }),
    message: someText(limits.messageCharacters),
    replaces: Type.Optional(
      Type.String({ format: 'uuid', description: '`turnId` of the message that this one takes the place of, if any.' }),
    ),
  },
  { title: 'PutNextTurn', ...closed },
)

export type NextTurn = Static<typeof NextTurn>
export type PutNextTurn = Static<typeof PutNextTurn>

/** What a Session has spent on models, and what its active Run may. */
export const SessionCost = Type.Object(
  {
    costUsd: Type.Number({ minimum: 0, description: 'Cost of all its Runs so far, as far as it is known.' }),
    costComplete: Type.Boolean({ description: 'False if `costUsd` is only the known part of the cost.' }),
    ...usageFields,
    ...timeField,
    run: Type.Union(
      [
        Type.Null(),
        Type.Object(
          {
            costUsd: Type.Number({ minimum: 0, description: 'Cost of the active Run so far.' }),
            limitUsd: Type.Union([Type.Null(), Type.Number({ minimum: 0 })], {
              description: 'What a Run of the organization may spend; null if nothing bounds it.',
            }),
          },
          open,
        ),
      ],
      { description: 'The active Run.' },
    ),
    near: Type.Array(
      Type.Object(
        {
          scope: openString(['person', 'installation', 'organization'], 'Whose budget it is.'),
          spentUsd: Type.Optional(Type.Number({ minimum: 0 })),
          limitUsd: Type.Optional(Type.Number({ minimum: 0 })),
        },
        open,
      ),
      {
        description:
          "Budgets beside its own that hold it and of which at least 80 percent are spent. The amounts of a person's are for that person and administrators.",
      },
    ),
  },
  { title: 'SessionCost', ...open },
)

export type SessionCost = Static<typeof SessionCost>

/** Everything that the first look at a Session needs. */
export const SessionOverview = Type.Object(
  {
    session: Session,
    state: SessionState,
    run: Type.Union([Type.Null(), Run], { description: 'The active Run.' }),
    interactions: Type.Array(Interaction, { description: 'Open ones, with their whole input.' }),
    publications: Type.Array(Publication, { description: 'The newest, at most 20, newest first.' }),
    merges: Type.Array(Merge, { description: 'Of these Publications, newest first for each.' }),
    nextTurn: Type.Union([Type.Null(), NextTurn], { description: 'The message that waits until the Run ends.' }),
    events: Type.Array(Event, { description: 'The last 100 of the log.' }),
    lastSequence: Count,
  },
  { title: 'SessionOverview', ...open },
)

export const SessionLocations = Type.Object(
  { organizationIds: Type.Array(Uuid) },
  { title: 'SessionLocations', ...open },
)

/** A place in a Session's log where words stand. */
export const SessionMatch = Type.Object(
  {
    sequence: Count,
    type: Type.String(),
    createdAt: DateTime,
    excerpt: Type.Object({ before: Type.String(), match: Type.String(), after: Type.String() }, open),
  },
  { title: 'SessionMatch', ...open },
)

export const SessionMatchPage = Type.Object(
  {
    matches: Type.Array(SessionMatch, { description: 'The newest first, at most 50.' }),
    before: nullable(Type.Integer({ description: 'Where to go on; null if the whole log was searched.' })),
  },
  { title: 'SessionMatchPage', ...open },
)

export type SessionMatch = Static<typeof SessionMatch>
export type SessionMatchPage = Static<typeof SessionMatchPage>
