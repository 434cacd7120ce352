import { Type } from 'typebox'
import {
  ApiKeyList,
  CreateApiKey,
  CreatedApiKey,
  CreateIntegration,
  InstallationEnvelope,
  InstallationList,
  IntegrationEnvelope,
  IntegrationList,
  UpdateInstallation,
} from '../installation.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'

const shared = {
  tag: 'Organizations',
  access: 'person',
  origin: 'account',
  needs: 'organization.integrations.manage',
} as const

const OrganizationPath = Type.Object({ organizationId: Uuid })
const IntegrationPath = Type.Object({ organizationId: Uuid, integrationId: Uuid })
const InstallationPath = Type.Object({ installationId: Uuid })

/** Installations of an organization, its integrations and their API keys. */
export const installationOperations = {
  listInstallations: operation({
    ...shared,
    method: 'GET',
    path: '/api/organizations/{organizationId}/installations',
    summary: "List an organization's installations",
    description: 'Lists installations of apps and integrations, newest first, including those that were revoked.',
    params: OrganizationPath,
    responses: { 200: { description: 'The installations.', schema: InstallationList } },
    errors: ['organization_not_found'],
  }),
  updateInstallation: operation({
    ...shared,
    recent: true,
    method: 'PATCH',
    path: '/api/installations/{installationId}',
    summary: 'Change a grant',
    description: 'What the installation may do changes on its next request. Runs under way go on.',
    params: InstallationPath,
    body: UpdateInstallation,
    responses: { 200: { description: 'The installation.', schema: InstallationEnvelope } },
    errors: ['installation_not_found'],
  }),
  revokeInstallation: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/api/installations/{installationId}',
    summary: 'Revoke an installation',
    description:
      'Its keys and tokens are refused from the next request on, its streams and Runs end, and it cannot return. Revoking it again changes nothing.',
    params: InstallationPath,
    responses: { 204: { description: 'The installation is revoked.' } },
    errors: ['installation_not_found'],
  }),
  createIntegration: operation({
    ...shared,
    recent: true,
    method: 'POST',
    path: '/api/organizations/{organizationId}/integrations',
    summary: 'Create an integration',
    description: "An installation that needs no app's backend: it is used with API keys.",
    params: OrganizationPath,
    body: CreateIntegration,
    responses: { 201: { description: 'The integration.', schema: IntegrationEnvelope } },
    errors: ['organization_not_found', 'app_not_found'],
  }),
  listIntegrations: operation({
    ...shared,
    method: 'GET',
    path: '/api/organizations/{organizationId}/integrations',
    summary: "List an organization's integrations",
    params: OrganizationPath,
    responses: { 200: { description: 'The integrations, newest first.', schema: IntegrationList } },
    errors: ['organization_not_found'],
  }),
  deleteIntegration: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/api/organizations/{organizationId}/integrations/{integrationId}',
    summary: 'Delete an integration',
    description: 'Revokes its installation and its keys.',
    params: IntegrationPath,
    responses: { 204: { description: 'The integration is gone.' } },
    errors: ['organization_not_found', 'integration_not_found'],
  }),
  createApiKey: operation({
    ...shared,
    recent: true,
    method: 'POST',
    path: '/api/organizations/{organizationId}/integrations/{integrationId}/keys',
    summary: 'Create an API key',
    description:
      'Two keys of a kind can be active, so that one can replace the other without a pause. An `ai` key needs `svc.ai.invoke` in the grant.',
    params: IntegrationPath,
    body: CreateApiKey,
    responses: { 201: { description: 'The key, with its secret.', schema: CreatedApiKey } },
    errors: ['organization_not_found', 'integration_not_found', 'api_key_not_found', 'api_key_limit_reached'],
  }),
  listApiKeys: operation({
    ...shared,
    method: 'GET',
    path: '/api/organizations/{organizationId}/integrations/{integrationId}/keys',
    summary: "List an integration's active keys",
    params: IntegrationPath,
    responses: { 200: { description: 'The keys, the oldest first.', schema: ApiKeyList } },
    errors: ['organization_not_found', 'integration_not_found'],
  }),
  revokeApiKey: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/api/organizations/{organizationId}/integrations/{integrationId}/keys/{keyId}',
    summary: 'Revoke an API key',
    description: 'The key is refused from the next request on.',
    params: Type.Object({ organizationId: Uuid, integrationId: Uuid, keyId: Uuid }),
    responses: { 204: { description: 'The key is revoked.' } },
    errors: ['organization_not_found', 'integration_not_found', 'api_key_not_found'],
  }),
} as const
