import { Type } from 'typebox'
import { MarkPinned, MarkRead, SessionOverview, SessionStateEnvelope, SessionStatePage } from '../console.ts'
import { defaultPageSize } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed, text } from '../scalar.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'
import { repositoryOperations } from './repository.ts'
import { sessionOperations } from './session.ts'

/** People alone; an installation's credential is refused as at `getMe`. */
const people = { access: 'bearer', principal: 'person' } as const

const { listRepositories, getLocalPull } = repositoryOperations
const { createSession } = sessionOperations

/**
 * Operations of first-party clients, on the repositories that the organization itself is connected to. They are left out
 * of the public document and may change with the clients.
 */
export const cloudOperations = {
  listOrganizationRepositories: {
    ...listRepositories,
    ...people,
    path: '/cloud/repositories',
    summary: "List the organization's repositories",
    description:
      "Lists the repositories that the organization's own connections reach, as the Git hosts report them now.",
    capability: 'svc.cloud.sessions:create',
  },
  createOrganizationSession: {
    ...createSession,
    ...people,
    path: '/cloud/sessions/{sessionId}',
    summary: "Create a Session on one of the organization's repositories",
    description:
      "With a `source`, the service's own installation owns the Session, and `initiatedBy` names the person. Without one, this is `createSession`.",
    errors: createSession.errors.filter(code => code !== 'installation_principal_required'),
  },
  getOrganizationPull: {
    ...getLocalPull,
    ...people,
    path: '/cloud/local-repositories/{repositoryId}/pulls/{number}',
  },
  followLive: operation({
    ...people,
    method: 'GET',
    path: '/cloud/live',
    summary: 'Follow what one tab shows',
    description:
      'Streams as server-sent events, in one connection: the Events and the preview of up to four Sessions, and with `feed` the changes of all. `data` is one of `{ kind: "event", sessionId, event }`, `{ kind: "preview", sessionId, preview }`, `{ kind: "session", session }` and `{ kind: "reset" }`, on which the client lists its Sessions.',
    tag: 'Events',
    capability: 'svc.cloud.sessions:read',
    query: Type.Object(
      {
        feed: Type.Optional(Type.Enum(['1'], { type: 'string' })),
        session: Type.Optional(
          Type.Array(
            Type.String({
              pattern: '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}:(?:0|[1-9][0-9]{0,15})$',
              description: '`<id>:<sequence>`: the Session, and the sequence of the last Event that is known.',
            }),
            { maxItems: 4, description: 'May be repeated.' },
          ),
        ),
      },
      closed,
    ),
    responses: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
    errors: ['cloud_session_not_found', 'event_stream_unavailable'],
  }),
  listSessionStates: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions',
    summary: 'List Sessions with what a person has to know of them',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.sessions),
        cursor: Cursor,
        archived: Type.Optional(Type.Enum(['true', 'only'], { type: 'string' })),
        q: Type.Optional(text(160, { description: 'Part of the title, in either case.' })),
        mine: Type.Optional(Type.Enum(['1'], { type: 'string', description: 'Only those that the person created.' })),
      },
      closed,
    ),
    responses: { 200: { description: 'A page, most recently changed first.', schema: SessionStatePage } },
    errors: [],
  }),
  getSessionOverview: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/overview',
    summary: 'Read what the first look at a Session needs',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The Session with what belongs to it.', schema: SessionOverview } },
    errors: ['cloud_session_not_found'],
  }),
  markSessionRead: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sessions/{sessionId}/read',
    summary: 'Note what a person has read',
    description: 'Never takes back what was read.',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    body: MarkRead,
    responses: { 200: { description: "The Session's state for the person.", schema: SessionStateEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  pinSession: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sessions/{sessionId}/pin',
    summary: 'Pin a Session for a person, or no longer',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    body: MarkPinned,
    responses: { 200: { description: "The Session's state for the person.", schema: SessionStateEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
} as const
