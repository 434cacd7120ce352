import { Type } from 'typebox'
import { EventPage } from '../event.ts'
import { defaultPageSize } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed } from '../scalar.ts'
import { AfterSequence, pageLimit, SessionPath } from './parameters.ts'

/** The Event log (interface 4.7). */
export const eventOperations = {
  listEvents: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/events',
    summary: 'Page the Event log',
    tag: 'Events',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object({ after: AfterSequence, limit: pageLimit(defaultPageSize.events) }, closed),
    responses: { 200: { description: 'Events in order.', schema: EventPage } },
    errors: ['cloud_session_not_found'],
  }),
  streamEvents: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/events/stream',
    summary: 'Follow the Event log',
    description:
      'Server-sent events: `id` is the sequence and `data` the Event; there is no `event` field. Reconnect with `Last-Event-ID`.',
    tag: 'Events',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object({ after: AfterSequence }, closed),
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.Integer({ minimum: 0, description: 'Sequence of the last Event seen; goes before `after`.' }),
      ),
    }),
    responses: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
    errors: ['cloud_session_not_found', 'event_stream_unavailable'],
  }),
  streamSessions: operation({
    method: 'GET',
    path: '/v1/sessions/stream',
    summary: 'Follow which Sessions change',
    description:
      'Server-sent events: `id` is the cursor of the feed and `data` is `{ sessionId, lastEventSequence, updatedAt }`, or `{ reset: true }` where the feed cannot be resumed and the Session list must be read again. It starts now; `Last-Event-ID` resumes it.',
    tag: 'Events',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    principal: 'app_installation',
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.String({ pattern: '^(0|[1-9][0-9]{0,19})$', description: 'Cursor of the last notice seen.' }),
      ),
    }),
    responses: { 200: { description: 'The feed.', mediaTypes: ['text/event-stream'] } },
    errors: ['event_stream_unavailable'],
  }),
} as const
