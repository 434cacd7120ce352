import { Type } from 'typebox'
import { ConnectionEnvelope } from '../connection.ts'
import { GoTo } from '../console.ts'
import {
  BeginGitConnection,
  ConnectGitAccount,
  FinishGitConnection,
  GitAccountList,
  GitConnectionList,
  GitConnectionMade,
} from '../git-connection.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'

const own = { tag: 'Repositories', access: 'person', needs: 'membership' } as const
const administrators = { tag: 'Repositories', access: 'person', needs: 'administrator' } as const
const ConnectionPath = Type.Object({ gitConnectionId: Uuid })

/**
 * Accounts of people at Git hosts, and the accounts that they administer there. The host sends the browser back by a
 * navigation, so that is no operation.
 */
export const gitConnectionOperations = {
  listGitConnections: operation({
    ...own,
    method: 'GET',
    path: '/cloud/git-connections',
    summary: "List the person's accounts at Git hosts",
    responses: { 200: { description: 'The accounts, and where more can be connected.', schema: GitConnectionList } },
    errors: [],
  }),
  beginGitConnection: operation({
    ...own,
    method: 'POST',
    path: '/cloud/git-connections',
    summary: 'Begin to connect an account at a Git host',
    description:
      'At `url` the host asks the person. It sends the browser back to the page, which finishes within ten minutes, in the same browser, and once.',
    body: BeginGitConnection,
    responses: { 200: { description: 'Where the browser goes next.', schema: GoTo } },
    errors: ['git_host_not_found'],
  }),
  finishGitConnection: operation({
    ...own,
    method: 'POST',
    path: '/cloud/git-connections/callback',
    summary: 'Finish to connect an account at a Git host',
    description: 'Takes what the host sent the browser back with. It replaces an account that was connected before.',
    body: FinishGitConnection,
    responses: { 200: { description: 'The connection.', schema: GitConnectionMade } },
    errors: ['git_connection_refused', 'cloud_workspace_unavailable'],
  }),
  removeGitConnection: operation({
    ...own,
    method: 'DELETE',
    path: '/cloud/git-connections/{gitConnectionId}',
    summary: "End a connection to the person's account at a Git host",
    description: 'The host is told to refuse its tokens.',
    params: ConnectionPath,
    responses: { 204: { description: 'The connection has ended.' } },
    errors: ['connection_not_found'],
  }),
  listGitAccounts: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/git-connections/{gitConnectionId}/accounts',
    summary: 'List the accounts that the organization could be connected to',
    description: 'Lists where the App is installed and the person has access, as the Git host reports it now.',
    params: ConnectionPath,
    responses: { 200: { description: 'The accounts.', schema: GitAccountList } },
    errors: [
      'connection_not_found',
      'cloud_github_connection_required',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
    ],
  }),
  connectGitAccount: operation({
    ...administrators,
    method: 'POST',
    path: '/cloud/git-connections/{gitConnectionId}/accounts',
    summary: 'Connect the organization to an account that the person administers',
    description:
      "The host is asked, with the person's own token, whether they administer the account. The organization gets every repository of it that the App reaches, later ones included.",
    recent: true,
    params: ConnectionPath,
    body: ConnectGitAccount,
    responses: { 201: { description: 'The connection of the organization.', schema: ConnectionEnvelope } },
    errors: [
      'connection_not_found',
      'cloud_github_connection_required',
      'cloud_repository_permission_denied',
      'cloud_workspace_unavailable',
    ],
  }),
} as const
