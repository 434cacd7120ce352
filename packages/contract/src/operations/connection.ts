import { Type } from 'typebox'
import { AddConnection, ConnectionEnvelope, ConnectionList, UpdateConnection } from '../connection.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'

const shared = { tag: 'Organizations', access: 'person', needs: 'administrator' } as const
const OrganizationPath = Type.Object({ organizationId: Uuid })

/** Connections of an organization itself, for the Sessions of its people. The API answers them: it reaches the hosts. */
export const connectionOperations = {
  listConnections: operation({
    ...shared,
    method: 'GET',
    path: '/api/organizations/{organizationId}/connections',
    summary: "List the organization's connections to Git hosts",
    params: OrganizationPath,
    responses: { 200: { description: 'The connections, the oldest first.', schema: ConnectionList } },
    errors: ['organization_not_found'],
  }),
  addConnection: operation({
    ...shared,
    method: 'POST',
    path: '/api/organizations/{organizationId}/connections',
    summary: 'Connect the organization to an account',
    description:
      'Grants what an installation of the organization has been granted of the account. Operators connect other accounts.',
    recent: true,
    params: OrganizationPath,
    body: AddConnection,
    responses: { 201: { description: 'The connection.', schema: ConnectionEnvelope } },
    errors: ['organization_not_found', 'cloud_repository_grant_required'],
  }),
  updateConnection: operation({
    ...shared,
    method: 'PATCH',
    path: '/api/organizations/{organizationId}/connections/{connectionId}',
    summary: 'Change who may use a connection',
    recent: true,
    params: Type.Object({ organizationId: Uuid, connectionId: Uuid }),
    body: UpdateConnection,
    responses: { 200: { description: 'The connection.', schema: ConnectionEnvelope } },
    errors: ['organization_not_found', 'connection_not_found', 'git_host_not_found'],
  }),
  removeConnection: operation({
    ...shared,
    method: 'DELETE',
    path: '/api/organizations/{organizationId}/connections/{connectionId}',
    summary: 'End a connection',
    description: 'Nothing is checked out, pushed or merged under it any more. Ending it again changes nothing.',
    recent: true,
    params: Type.Object({ organizationId: Uuid, connectionId: Uuid }),
    responses: { 204: { description: 'The connection has ended.' } },
    errors: ['organization_not_found', 'connection_not_found'],
  }),
} as const
