import { Type } from 'typebox'
import { EnvironmentEnvelope } from '../environment.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'
import { AllowedHost, PublicName, SessionEgress } from '../session-egress.ts'
import { SessionPath } from './parameters.ts'

/** The network of sandboxes: what was reached, and hosts that people allow. */
export const egressOperations = {
  getSessionEgress: operation({
    method: 'GET',
    path: '/v1/sessions/{sessionId}/egress',
    summary: "List the hosts of a Session's sandboxes",
    description:
      'Lists the hosts that the sandboxes of a Session have reached or were refused, with bytes and times, and how often secrets were put into requests. It is up to ten seconds old.',
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.sessions:read',
    params: SessionPath,
    responses: { 200: { description: 'The hosts.', schema: SessionEgress } },
    errors: ['cloud_session_not_found'],
  }),
  allowSessionHost: operation({
    method: 'PUT',
    path: '/v1/sessions/{sessionId}/egress/hosts/{host}',
    summary: 'Allow a host that was refused',
    description:
      "Allows a host for the environment of a Session, as the decision `allow_project` does: it holds at once for the Sessions of an environment that asks, and is proposed as a change of the environment's document. Open approvals of the Session for the host are decided by it. Repeating the request changes nothing.",
    tag: 'Sessions',
    access: 'bearer',
    capability: 'svc.cloud.approvals:respond',
    params: Type.Object({ sessionId: Uuid, host: PublicName }),
    responses: { 200: { description: 'What became of the host.', schema: AllowedHost } },
    errors: ['cloud_session_not_found', 'environment_conflict'],
  }),
  removeProposedHost: operation({
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/proposed-hosts/{host}',
    summary: 'Remove a proposed host',
    description:
      'Removes a host that somebody allowed for the environment: it holds no more. To accept one, write the document with the host in `network.hosts`.',
    tag: 'Environments',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    installationCapability: 'environments:manage',
    params: Type.Object({ environmentId: Uuid, host: PublicName }),
    responses: { 200: { description: 'The environment as it is now.', schema: EnvironmentEnvelope } },
    errors: ['environment_not_found'],
  }),
} as const
