import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { PortList, PortPreview } from '../port-preview.ts'
import { Uuid } from '../scalar.ts'
import { SessionPath } from './parameters.ts'

const shared = { access: 'bearer', principal: 'person', tag: 'Sessions' } as const
const PortPath = Type.Object({ sessionId: Uuid, port: Type.String({ pattern: '^[1-9][0-9]{0,4}$' }) })
const errors = ['cloud_session_not_found', 'cloud_workspace_expired', 'cloud_preview_unavailable'] as const

/** Previews of what programs in the sandbox of a Session serve. A preview itself has a host of its own, so no operation. */
export const portPreviewOperations = {
  listPorts: operation({
    ...shared,
    method: 'GET',
    path: '/cloud/sessions/{sessionId}/ports',
    summary: 'List the ports on which a sandbox listens',
    description: 'Starts nothing and renews no lease. A sandbox at rest tells no ports.',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The ports.', schema: PortList } },
    errors: [...errors],
  }),
  openPortPreview: operation({
    ...shared,
    method: 'POST',
    path: '/cloud/sessions/{sessionId}/ports/{port}/preview',
    summary: 'Open a preview of a port',
    description:
      "Gives a URL that opens the preview once within 60 seconds, at a host of its own. The browser that opened it may use it for twelve hours at most; it ends with the sandbox and with the person's sign-in.",
    capability: 'svc.cloud.turns:submit',
    params: PortPath,
    responses: { 201: { description: 'The URL.', schema: PortPreview } },
    errors: [...errors],
  }),
  endPortPreviews: operation({
    ...shared,
    method: 'DELETE',
    path: '/cloud/sessions/{sessionId}/ports/{port}/preview',
    summary: 'End the previews of a port',
    description: 'Ends them for everybody. Repeating the request has no further effect.',
    capability: 'svc.cloud.turns:submit',
    params: PortPath,
    responses: { 204: { description: 'There are none any more.' } },
    errors: ['cloud_session_not_found'],
  }),
} as const
