import { Type } from 'typebox'
import { AppSlug } from '../app.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'
import { RegisteredWebhook, RegisterWebhook, WebhookEndpointList } from '../webhook.ts'

const shared = {
  tag: 'Webhooks',
  access: 'person',
  origin: 'account',
  needs: 'organization.applications.manage',
} as const

const path = '/api/apps/{appSlug}/installations/{installationId}/webhooks'

const InstallationPath = Type.Object({ appSlug: AppSlug, installationId: Uuid })
const EndpointPath = Type.Object({ appSlug: AppSlug, installationId: Uuid, endpointId: Uuid })

/** Webhook endpoints of an app's installations. */
export const webhookOperations = {
  registerWebhook: operation({
    ...shared,
    method: 'POST',
    path,
    summary: 'Register a webhook endpoint',
    description:
      'The endpoint gets the Events of these families that are appended from now on to Sessions of the installation. An installation has at most five endpoints.',
    params: InstallationPath,
    body: RegisterWebhook,
    responses: { 201: { description: 'The endpoint, with its secret.', schema: RegisteredWebhook } },
    errors: ['invalid_url', 'invalid_event_families', 'installation_not_found', 'endpoint_limit_reached'],
  }),
  listWebhooks: operation({
    ...shared,
    method: 'GET',
    path,
    summary: "List an installation's webhook endpoints",
    description: 'Lists endpoints in the order of their registration, without their secrets.',
    params: InstallationPath,
    responses: { 200: { description: 'The endpoints.', schema: WebhookEndpointList } },
    errors: ['installation_not_found'],
  }),
  deleteWebhook: operation({
    ...shared,
    method: 'DELETE',
    path: `${path}/{endpointId}`,
    summary: 'Delete a webhook endpoint',
    description:
      'Ends its deliveries; an attempt under way may still arrive. Deleting an endpoint again changes nothing.',
    params: EndpointPath,
    responses: { 204: { description: 'The endpoint is gone.' } },
    errors: ['installation_not_found'],
  }),
} as const
