import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { closed, text } from '../scalar.ts'
import { WorkspaceNodeEnvelope, workspaceViews } from '../workspace-file.ts'
import { SessionPath } from './parameters.ts'

const shared = {
  access: 'bearer',
  principal: 'person',
  method: 'GET',
  tag: 'Sessions',
  capability: 'svc.cloud.sessions:read',
  params: SessionPath,
} as const

const place = {
  path: Type.Optional(
    text(4096, { description: 'Below `/workspace`, or absolute as in the sandbox; absent: the workspace itself.' }),
  ),
  at: Type.Optional(
    Type.Enum(workspaceViews, {
      type: 'string',
      description: 'Absent: the sandbox if there is one, else the last checkpoint.',
    }),
  ),
} as const

const errors = [
  'cloud_session_not_found',
  'workspace_file_not_found',
  'workspace_file_unreadable',
  'cloud_workspace_expired',
  'cloud_repository_required',
  'cloud_repository_grant_required',
  'cloud_workspace_unavailable',
] as const

/** The files of a Session's workspace. Reading them starts nothing and renews no lease. */
export const workspaceFileOperations = {
  getWorkspaceNode: operation({
    ...shared,
    path: '/cloud/sessions/{sessionId}/files',
    summary: 'Look at a directory or a file of a workspace',
    description:
      'Lists a directory, or says how large a file is. Without a sandbox the answer comes from the last checkpoint, which lacks what checkpoints leave out. At `base` it comes from the repository alone, which lies in `project`.',
    query: Type.Object(place, closed),
    responses: { 200: { description: 'What is there.', schema: WorkspaceNodeEnvelope } },
    errors: [...errors],
  }),
  getWorkspaceContent: operation({
    ...shared,
    path: '/cloud/sessions/{sessionId}/files/content',
    summary: 'Read a part of a file of a workspace',
    description: 'Returns at most 1 MiB from `offset` on.',
    query: Type.Object(
      {
        ...place,
        offset: Type.Integer({ minimum: 0, default: 0, description: 'The first byte.' }),
      },
      closed,
    ),
    responses: {
      200: {
        description: 'The bytes; none behind the end of the file.',
        mediaTypes: ['application/octet-stream'],
        headers: {
          'X-Svc-File-Bytes': 'Size of the whole file, at this moment.',
          'Content-Disposition': 'Always an attachment.',
        },
      },
    },
    errors: [...errors],
  }),
} as const
