import { type Static, Type } from 'typebox'
import { capabilities, permissions, roles } from './capability.ts'
import { Event } from './event.ts'
import { Interaction, interactionKinds } from './interaction.ts'
import { Merge } from './merge.ts'
import { Publication } from './publication.ts'
import { Run } from './run.ts'
import { Count, closed, DateTime, nullable, open, openString, someText, Uuid } from './scalar.ts'
import { Session, sessionPhases } from './session.ts'

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
    features: Type.Record(Type.String(), Type.Boolean(), { description: 'What this service offers its page.' }),
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
export type ConsoleIdentity = Static<typeof ConsoleIdentity>

/** What lists show of a Session beside the Session itself, for one person. */
export const SessionState = Type.Object(
  {
    id: Uuid,
    title: Type.String(),
    lastEventSequence: Count,
    updatedAt: DateTime,
    phase: Type.Enum(sessionPhases, { type: 'string' }),
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
    unread: Type.Boolean({ description: 'Whether there are Events that the person has not read.' }),
    pinned: Type.Boolean(),
  },
  { title: 'SessionState', ...open },
)

export type SessionState = Static<typeof SessionState>

export const SessionStatePage = Type.Object(
  {
    sessions: Type.Array(Type.Object({ session: Session, state: SessionState }, open)),
    nextCursor: nullable(Type.String()),
    hasMore: Type.Boolean(),
  },
  { title: 'SessionStatePage', ...open },
)

export const SessionStateEnvelope = Type.Object({ state: SessionState }, { title: 'SessionStateEnvelope', ...open })

export const MarkRead = Type.Object(
  { sequence: Type.Integer({ minimum: 0, description: 'Newest Event that the person has seen.' }) },
  { title: 'MarkRead', ...closed },
)

export const MarkPinned = Type.Object({ pinned: Type.Boolean() }, { title: 'MarkPinned', ...closed })

/** Everything that the first look at a Session needs. */
export const SessionOverview = Type.Object(
  {
    session: Session,
    state: SessionState,
    run: Type.Union([Type.Null(), Run], { description: 'The active Run.' }),
    interactions: Type.Array(Interaction, { description: 'Open ones, with their whole input.' }),
    publications: Type.Array(Publication, { description: 'The newest, at most 20, newest first.' }),
    merges: Type.Array(Merge, { description: 'Of these Publications, newest first for each.' }),
    events: Type.Array(Event, { description: 'The last 100 of the log.' }),
    lastSequence: Count,
  },
  { title: 'SessionOverview', ...open },
)

export const SessionLocations = Type.Object(
  { organizationIds: Type.Array(Uuid) },
  { title: 'SessionLocations', ...open },
)
