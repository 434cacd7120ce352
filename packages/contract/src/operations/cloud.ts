import { Type } from 'typebox'
import {
  MarkFileViewed,
  MarkRead,
  MarkSession,
  NextTurnEnvelope,
  PutNextTurn,
  SessionCost,
  SessionMatchPage,
  SessionOverview,
  SessionStateEnvelope,
  SessionStatePage,
  ViewedFiles,
  ViewedMarks,
} from '../console.ts'
import { defaultPageSize } from '../limits.ts'
import { operation } from '../operation.ts'
import { PullChecks } from '../pull-check.ts'
import { BranchList, RepositoryEnvelope } from '../repository.ts'
import { ReviewEnvelope, ReviewFileDiff, StoredReviewList } from '../review.ts'
import { closed, Sha256, someText, text, Uuid } from '../scalar.ts'
import { sessionStatuses } from '../session-status.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'
import { repositoryOperations } from './repository.ts'
import { sessionOperations } from './session.ts'

/** People alone; an installation's credential is refused as at `getMe`. */
const people = { access: 'bearer', principal: 'person' } as const

const ReviewPath = Type.Object({ ...SessionPath.properties, revision: Sha256 })

const { listRepositories, getLocalPull, reviewLocalPull } = repositoryOperations
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
    query: Type.Object(
      {
        ...listRepositories.query.properties,
        q: Type.Optional(text(200, { description: 'Part of `owner/name`, in either case.' })),
      },
      closed,
    ),
  },
  listOrganizationBranches: operation({
    ...people,
    method: 'GET',
    path: '/cloud/repositories/{grantId}/{repositoryId}/branches',
    summary: 'List branches of a repository',
    description: 'Lists at most 100 branches, as the Git host reports them now.',
    tag: 'Repositories',
    capability: 'svc.cloud.sessions:create',
    params: Type.Object({ grantId: Uuid, repositoryId: Type.String({ pattern: '^[0-9]{1,20}$' }) }),
    query: Type.Object({ q: Type.Optional(text(250, { description: 'Beginning of the name.' })) }, closed),
    responses: { 200: { description: 'Names of branches.', schema: BranchList } },
    errors: [
      'cloud_repository_grant_not_found',
      'cloud_repository_unavailable',
      'cloud_repository_permission_denied',
      'cloud_github_connection_required',
      'cloud_workspace_unavailable',
    ],
  }),
  provideSampleRepository: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sample-repository',
    summary: "Make the organization's sample repository",
    description:
      'A small repository of the local Git host with a test that fails. The first call makes it, and grants it to the organization alone. After the connection or the grant was removed, only an administrator makes it again.',
    tag: 'Repositories',
    capability: 'svc.cloud.sessions:create',
    responses: { 200: { description: 'The repository.', schema: RepositoryEnvelope } },
    errors: ['cloud_repository_grant_required', 'cloud_repository_unavailable', 'cloud_workspace_unavailable'],
  }),
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
  reviewOrganizationPull: {
    ...reviewLocalPull,
    ...people,
    path: '/cloud/local-repositories/{repositoryId}/pulls/{number}/reviews/{reviewId}',
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
        q: Type.Optional(
          text(160, {
            description: 'Words, each of which the title, the repository or the branch contains, in either case.',
          }),
        ),
        state: Type.Optional(
          Type.Enum([...sessionStatuses, 'rest'], {
            type: 'string',
            description: 'Only those of a status; `rest`: those that neither wait for a person nor work.',
          }),
        ),
        mine: Type.Optional(Type.Enum(['1'], { type: 'string', description: 'Only those that the person started.' })),
        pinned: Type.Optional(
          Type.Enum(['0', '1'], {
            type: 'string',
            description: '`1`: only those that the person pinned; `0`: only the others.',
          }),
        ),
        snoozed: Type.Optional(
          Type.Enum(['0', '1'], {
            type: 'string',
            description: '`1`: only those that the person snoozes now; `0`: only the others.',
          }),
        ),
        repository: Type.Optional(
          Type.String({ pattern: '^[a-z]{1,20}:[0-9]{1,20}$', description: '`<kind>:<repositoryId>` of the source.' }),
        ),
        pull: Type.Optional(Type.Enum(['1'], { type: 'string', description: 'Only those with a pull request.' })),
        counted: Type.Optional(
          Type.Enum(['1'], { type: 'string', description: 'Says as well how many follow the page: `remaining`.' }),
        ),
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
  getSessionCost: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/cost',
    summary: 'Read what a Session has spent on models',
    description: 'With the active Run, whose requests count as soon as they have ended.',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The cost.', schema: SessionCost } },
    errors: ['cloud_session_not_found'],
  }),
  listPublicationChecks: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/publications/{publicationId}/checks',
    summary: "Read what keeps a Publication's pull request from being merged",
    description: 'As the Git host reports it now, with each check by name.',
    tag: 'Publications',
    capability: 'svc.cloud.sessions:read',
    params: Type.Object({ ...SessionPath.properties, publicationId: Uuid }),
    responses: { 200: { description: 'The checks.', schema: PullChecks } },
    errors: [
      'cloud_session_not_found',
      'cloud_publication_not_mergeable',
      'cloud_repository_grant_required',
      'cloud_github_connection_required',
      'cloud_repository_unavailable',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
    ],
  }),
  listStoredReviews: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/reviews',
    summary: 'List the revisions that were made of a Session',
    tag: 'Publications',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The newest revisions.', schema: StoredReviewList } },
    errors: ['cloud_session_not_found'],
  }),
  getStoredReview: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/reviews/{revision}',
    summary: 'Read a stored revision again',
    description: 'Needs no sandbox, and starts none.',
    tag: 'Publications',
    capability: 'svc.cloud.sessions:read',
    params: ReviewPath,
    responses: { 200: { description: 'The review, as it was made.', schema: ReviewEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  getStoredReviewFile: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/reviews/{revision}/files/{number}',
    summary: 'Read the lines of one file of a stored revision',
    description: 'Reaches files beyond the bound of `patch`, and the unchanged lines around each change.',
    tag: 'Publications',
    capability: 'svc.cloud.sessions:read',
    params: Type.Object({
      ...ReviewPath.properties,
      number: Type.String({ pattern: '^(?:0|[1-9][0-9]{0,6})$', description: 'Place in `files`, from 0.' }),
    }),
    query: Type.Object(
      {
        context: Type.Integer({
          minimum: 0,
          maximum: 1_000_000,
          default: 3,
          description: 'How many unchanged lines to give around each change.',
        }),
      },
      closed,
    ),
    responses: { 200: { description: 'The file.', schema: ReviewFileDiff } },
    errors: ['cloud_session_not_found'],
  }),
  searchSession: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/search',
    summary: 'Search what the Events of a Session tell',
    description: 'One request searches at most 20 000 Events; `before` of its answer says where to go on.',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    query: Type.Object(
      {
        q: someText(200, { description: 'Words as they stand there, in either case.' }),
        before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      },
      closed,
    ),
    responses: { 200: { description: 'Where the words stand.', schema: SessionMatchPage } },
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
  markSession: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sessions/{sessionId}/marks',
    summary: 'Pin or snooze a Session for a person, or no longer',
    description: 'What is absent stays as it is.',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    body: MarkSession,
    responses: { 200: { description: "The Session's state for the person.", schema: SessionStateEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  listViewedFiles: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/viewed-files',
    summary: "List the files of a Session's changes that a person has viewed",
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: "The person's marks.", schema: ViewedFiles } },
    errors: ['cloud_session_not_found'],
  }),
  markFileViewed: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sessions/{sessionId}/viewed-files',
    summary: "Mark a file of a Session's changes as viewed, or no longer",
    description: 'Keeps one mark for each path. Beyond 2000 the oldest is forgotten.',
    tag: 'Sessions',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    body: MarkFileViewed,
    responses: { 200: { description: 'How often the marks have changed.', schema: ViewedMarks } },
    errors: ['cloud_session_not_found'],
  }),
  getNextTurn: operation({
    ...people,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/next-turn',
    summary: 'Read the message that waits until the Run ends',
    tag: 'Turns and Runs',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The message; null if none waits.', schema: NextTurnEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  putNextTurn: operation({
    ...people,
    method: 'PUT',
    path: '/cloud/sessions/{sessionId}/next-turn',
    summary: 'Leave a message that becomes a Turn when the Run ends',
    description:
      'Takes the place of the earlier message of the same person that `replaces` names, and of no other. If the Turn is then refused, the message stays with the reason, until it is replaced or taken back.',
    tag: 'Turns and Runs',
    capability: 'svc.cloud.turns:submit',
    params: SessionPath,
    body: PutNextTurn,
    responses: { 200: { description: 'The message; null if it is a Turn already.', schema: NextTurnEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_turn_conflict', 'cloud_next_turn_conflict'],
  }),
  withdrawNextTurn: operation({
    ...people,
    method: 'DELETE',
    path: '/cloud/sessions/{sessionId}/next-turn',
    summary: 'Take back the message that waits',
    description: 'Anybody who may submit Turns can take it back, and gets its text.',
    tag: 'Turns and Runs',
    capability: 'svc.cloud.turns:submit',
    params: SessionPath,
    responses: { 200: { description: 'What was taken back; null if nothing waited.', schema: NextTurnEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
} as const
