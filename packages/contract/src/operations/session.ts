import { Type } from 'typebox'
import { defaultPageSize, originLimits } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed, text } from '../scalar.ts'
import { CreateSession, SessionEnvelope, SessionPage, UpdateSession } from '../session.ts'
import { Cursor, pageLimit, SessionPath } from './parameters.ts'

const location = { Location: 'Path of the Session.' }

/** Sessions (interface 4.4). */
export const sessionOperations = {
  listSessions: operation({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'List Sessions',
    description: 'Most recently changed first. Archived Sessions are left out unless asked for.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.sessions),
        cursor: Cursor,
        archived: Type.Optional(
          Type.Enum(['true', 'only'], {
            type: 'string',
            description: '`true` adds archived Sessions, `only` lists no others.',
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
  getSession: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}',
    summary: 'Read a Session',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The Session.', schema: SessionEnvelope } },
    errors: ['cloud_session_not_found'],
  }),
  createSession: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}',
    summary: 'Create a Session',
    description: 'The caller mints the id. The same body again answers with the Session as it is now.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    params: SessionPath,
    body: CreateSession,
    responses: {
      201: { description: 'Created.', schema: SessionEnvelope, headers: location },
      200: { description: 'Created before by the same body.', schema: SessionEnvelope, headers: location },
    },
    errors: [
      'cloud_session_not_found',
      'cloud_session_conflict',
      'environment_forbidden',
      'cloud_repository_grant_required',
      'cloud_github_connection_required',
      'cloud_repository_unavailable',
      'cloud_repository_permission_denied',
      'cloud_repository_branch_not_found',
      'cloud_workspace_unavailable',
      'installation_principal_required',
      'cloud_agent_catalog_unavailable',
    ],
  }),
  updateSession: operation({
    method: 'PATCH',
    path: '/v1/sessions/{sessionId}',
    summary: 'Change a Session',
    description: 'The last write wins. A Run already dispatched keeps what it started with.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    params: SessionPath,
    body: UpdateSession,
    responses: { 200: { description: 'The changed Session.', schema: SessionEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_session_settled',
      'environment_forbidden',
      'cloud_agent_catalog_unavailable',
    ],
  }),
  archiveSession: operation({
    method: 'DELETE',
    path: '/v1/sessions/{sessionId}',
    summary: 'Archive a Session',
    description: 'Permanent, and idempotent. The Session stays readable.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    params: SessionPath,
    responses: { 204: { description: 'Archived.' } },
    errors: ['cloud_session_not_found'],
  }),
  restoreWorkspace: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/workspace',
    summary: 'Bring the workspace back',
    description:
      'Answers with a workspace that is attached: the one there is, renewed where its time runs out, or a fresh sandbox with the last checkpoint in it. Read `workspace.expiresAt` for its deadline.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.turns:submit',
    params: SessionPath,
    responses: { 200: { description: 'The Session, its workspace attached.', schema: SessionEnvelope } },
    errors: [
      'cloud_session_not_found',
      'cloud_resume_unavailable',
      'cloud_session_finalizing',
      'cloud_run_in_progress',
      'cloud_publication_in_progress',
      'cloud_workspace_starting',
      'cloud_workspace_unavailable',
    ],
  }),
  resetSession: operation({
    method: 'POST',
    path: '/v1/sessions/{sessionId}/reset',
    summary: 'Begin afresh',
    description:
      "Only while `continuation` is `unavailable` with `checkpoint_missing`: the earlier work is gone. The log is kept, and its `svc.conversation.cleared` names the Runs whose work is lost; the next Turn begins in a fresh sandbox, from the Session's source where it has one. After a lost answer, read `continuation`: the same call again is refused.",
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.turns:submit',
    params: SessionPath,
    responses: { 200: { description: 'The Session, its `continuation` `fresh`.', schema: SessionEnvelope } },
    errors: ['cloud_session_not_found', 'cloud_run_in_progress', 'cloud_session_finalizing', 'cloud_reset_unavailable'],
  }),
} as const
