import { Type } from 'typebox'
import { defaultPageSize, originLimits } from '../limits.ts'
import { guarded } from '../operation.ts'
import { closed, text } from '../scalar.ts'
import { CreateSession, ForkSession, SessionEnvelope, SessionPage, UpdateSession } from '../session.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'

const create = guarded('Sessions', 'svc.cloud.sessions:create')
const read = guarded('Sessions', 'svc.cloud.sessions:read')
const submit = guarded('Sessions', 'svc.cloud.turns:submit')

const location = { Location: 'Path of the Session.' }

/** Sessions. */
export const sessionOperations = {
  listSessions: read({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'List Sessions',
    description:
      'Lists Sessions, most recently changed first. Archived Sessions are left out unless `archived` is set.',
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.sessions),
        cursor: Cursor,
        archived: Type.Optional(
          Type.Enum(['true', 'only'], {
            type: 'string',
            description: '`true` includes archived Sessions; `only` lists nothing else.',
          }),
        ),
        'origin.objectType': Type.Optional(text(originLimits.objectType)),
        'origin.objectId': Type.Optional(text(originLimits.objectId)),
        'origin.tenantKey': Type.Optional(text(originLimits.tenantKey)),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of Sessions.', schema: SessionPage } },
    errors: [],
  }),
  getSession: read({
    method: 'GET',
    path: '/v1/sessions/{sessionId}',
    summary: 'Read a Session',
    description: 'Returns a Session as it is now.',
    params: SessionPath,
    responses: { 200: { description: 'The Session.', schema: SessionEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  createSession: create({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}',
    summary: 'Create a Session',
    description:
      'Creates a Session under an id that the caller chooses. Repeating the request with the same body returns the Session as it is now.',
    params: SessionPath,
    body: CreateSession,
    responses: {
      201: { description: 'The Session was created.', schema: SessionEnvelope, headers: location },
      200: {
        description: 'An earlier request with the same body created the Session.',
        schema: SessionEnvelope,
        headers: location,
      },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_session_conflict',
      'environment_forbidden',
      'environment_not_found',
      'environment_conflict',
      'cloud_repository_grant_required',
      'cloud_github_connection_required',
      'cloud_repository_unavailable',
      'cloud_repository_permission_denied',
      'cloud_repository_branch_not_found',
      'cloud_workspace_unavailable',
      'installation_principal_required',
      'cloud_compute_not_configured',
      'cloud_compute_outdated',
      'cloud_agent_catalog_unavailable',
    ],
  }),
  updateSession: create({
    method: 'PATCH',
    path: '/v1/sessions/{sessionId}',
    summary: 'Change a Session',
    description:
      'Changes the given fields; the last write wins. A Run that has been dispatched keeps the values it started with.',
    params: SessionPath,
    body: UpdateSession,
    responses: { 200: { description: 'The changed Session.', schema: SessionEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_session_settled',
      'environment_forbidden',
      'environment_not_found',
      'environment_conflict',
      'cloud_agent_catalog_unavailable',
    ],
  }),
  archiveSession: create({
    method: 'DELETE',
    path: '/v1/sessions/{sessionId}',
    summary: 'Archive a Session',
    description:
      'Archives a Session for good. The Session stays readable. Repeating the request has no further effect.',
    params: SessionPath,
    responses: { 204: { description: 'The Session is archived.' } },
    errors: ['cloud_session_not_found'],
  }),
  restoreWorkspace: submit({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/workspace',
    summary: 'Restore the workspace',
    description:
      'Attaches a workspace: the current one, renewed if it is about to expire, or a fresh sandbox with the last checkpoint. `workspace.expiresAt` is its deadline.',
    params: SessionPath,
    responses: { 200: { description: 'The Session, with its workspace attached.', schema: SessionEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_resume_unavailable',
      'cloud_session_finalizing',
      'cloud_run_in_progress',
      'cloud_publication_in_progress',
      'cloud_compute_not_configured',
      'cloud_compute_outdated',
      'cloud_workspace_starting',
      'cloud_workspace_unavailable',
    ],
  }),
  releaseWorkspace: submit({
    method: 'DELETE',
    path: '/v1/sessions/{sessionId}/workspace',
    summary: 'Release the workspace',
    description:
      'Gives the sandbox of an idle Session back; the next Turn starts in a fresh one, with the work as it was sealed. Use it to have the newest revision of the environment applied. Repeating the request has no further effect. It is refused if the work in the sandbox is not sealed. If somebody worked at a terminal meanwhile, that work is sealed first; repeat the request while it is refused with `cloud_session_finalizing`.',
    params: SessionPath,
    responses: { 204: { description: 'The Session holds no workspace.' } },
    errors: [
      'cloud_session_not_found',
      'cloud_resume_unavailable',
      'cloud_session_finalizing',
      'cloud_run_in_progress',
      'cloud_publication_in_progress',
      'cloud_workspace_starting',
    ],
  }),
  resetSession: submit({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/reset',
    summary: 'Reset a Session',
    description:
      "Lets a Session whose work is lost start again. It is possible only while `continuation` is `unavailable` with the reason `checkpoint_missing`. The log is kept, and its `svc.conversation.cleared` names the Runs whose work is lost. The next Turn starts in a fresh sandbox, from the Session's source if it has one. If the response is lost, read `continuation`: a second call is refused.",
    params: SessionPath,
    responses: { 200: { description: 'The Session, whose `continuation` is now `fresh`.', schema: SessionEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_run_in_progress', 'cloud_session_finalizing', 'cloud_reset_unavailable'],
  }),
  forkSession: create({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/forks',
    summary: 'Fork a Session',
    description:
      'Makes a new Session that begins where a Run of this one ended: with its workspace, its conversation and its Turns, and a log of its own. `parent` names this Session and the Run. Work in one does not show in the other. Repeating the request with the same `id` and body returns the fork as it is now.',
    params: SessionPath,
    body: ForkSession,
    responses: {
      200: { description: 'An earlier request made the fork.', schema: SessionEnvelope, headers: location },
      201: { description: 'The fork.', schema: SessionEnvelope, headers: location },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_session_conflict',
      'cloud_run_in_progress',
      'cloud_session_finalizing',
      'cloud_fork_unavailable',
    ],
  }),
} as const
