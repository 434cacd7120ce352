import { Type } from 'typebox'
import { EventPage, LogDigest } from '../event.ts'
import { defaultPageSize } from '../limits.ts'
import { guarded } from '../operation.ts'
import { closed } from '../scalar.ts'
import { AfterSequence, pageLimit, SessionPath } from './parameters.ts'

const read = guarded('Events', 'svc.cloud.sessions:read')

/** The Event log. */
export const eventOperations = {
  listEvents: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/events',
    summary: 'Read the Event log',
    description: 'Returns the Events after a cursor, in order and without gaps.',
    params: SessionPath,
    query: Type.Object({ after: AfterSequence, limit: pageLimit(defaultPageSize.events) }, closed),
    responses: { 200: { description: 'Events in order.', schema: EventPage } },
    errors: ['cloud_session_not_found'],
  }),
  digestEvents: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/events/digest',
    summary: 'Digest the Event log',
    description:
      'Returns what the log comes to at one of its Events, to be compared with what its pages give, or with a digest that was kept elsewhere.',
    params: SessionPath,
    query: Type.Object(
      {
        at: Type.Optional(
          Type.Integer({ minimum: 1, description: 'Sequence of an Event of the log. Default: the newest.' }),
        ),
      },
      closed,
    ),
    responses: { 200: { description: 'The digest.', schema: LogDigest } },
    errors: ['cloud_session_not_found'],
  }),
  streamEvents: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/events/stream',
    summary: 'Follow the Event log',
    description:
      'Streams the Events of a Session as server-sent events. `id` is the sequence and `data` the Event; there is no `event` field. To resume, reconnect with `Last-Event-ID`.',
    params: SessionPath,
    query: Type.Object({ after: AfterSequence }, closed),
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'Sequence of the last Event received; takes precedence over `after`.',
        }),
      ),
    }),
    responses: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
    errors: ['cloud_session_not_found', 'event_stream_unavailable'],
  }),
  streamPreviews: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/previews',
    summary: 'Follow what the agent is saying',
    description:
      'Streams what the agent is saying and which tools run, as server-sent events: `data` is `{ message?, activities, steps? }`, always the whole of it. `steps` has how far the steps of `svc.workspace.progress` have come that download or write: `{ stepId, title, progress: { unit, done, total?, bytes? } }`. A preview is not part of the log, is never repeated, and disappears when the Event of the same id is appended. The events have no `id`: a reader that misses some has missed nothing that counts.',
    params: SessionPath,
    responses: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
    errors: ['cloud_session_not_found', 'event_stream_unavailable'],
  }),
  streamSessions: read({
    method: 'GET',
    path: '/v1/sessions/stream',
    summary: 'Follow changes of Sessions',
    description:
      'Streams a notice for each change of a Session as server-sent events. `id` is the cursor of the feed and `data` is `{ sessionId, lastEventSequence, updatedAt }`. The feed starts at the present; `Last-Event-ID` resumes it. If it cannot resume, `data` is `{ reset: true }`: list the Sessions again.',
    principal: 'app_installation',
    headers: Type.Object({
      'last-event-id': Type.Optional(
        Type.String({ pattern: '^(0|[1-9][0-9]{0,19})$', description: 'Cursor of the last notice received.' }),
      ),
    }),
    responses: { 200: { description: 'The feed.', mediaTypes: ['text/event-stream'] } },
    errors: ['event_stream_unavailable'],
  }),
} as const
