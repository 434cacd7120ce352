import { Type } from 'typebox'
import { AppSlug } from '../app.ts'
import { operation } from '../operation.ts'
import { closed, Uuid } from '../scalar.ts'
import {
  RegisteredWebhook,
  RegisterWebhook,
  ReplayedWebhook,
  ReplayWebhook,
  WebhookDeliveryEnvelope,
  WebhookDeliveryPage,
  WebhookEndpointList,
  webhookDeliveryStatuses,
} from '../webhook.ts'
import { Cursor, pageLimit } from './parameters.ts'

const shared = {
  tag: 'Webhooks',
  access: 'person',
  origin: 'account',
  needs: 'organization.applications.manage',
} as const

const path = '/api/apps/{appSlug}/installations/{installationId}/webhooks'

const InstallationPath = Type.Object({ appSlug: AppSlug, installationId: Uuid })
const EndpointPath = Type.Object({ appSlug: AppSlug, installationId: Uuid, endpointId: Uuid })

const notFound = ['installation_not_found', 'webhook_endpoint_not_found'] as const

/** Webhook endpoints of an app's installations. */
export const webhookOperations = {
  registerWebhook: operation({
    ...shared,
    recent: true,
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
  listWebhookDeliveries: operation({
    ...shared,
    method: 'GET',
    path: `${path}/{endpointId}/deliveries`,
    summary: "List an endpoint's deliveries",
    description: 'The newest first. Deliveries that succeeded are kept for 7 days, and those that failed for 30.',
    params: EndpointPath,
    query: Type.Object(
      {
        limit: pageLimit(50),
        cursor: Cursor,
        status: Type.Optional(Type.Enum([...webhookDeliveryStatuses], { type: 'string' })),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of deliveries.', schema: WebhookDeliveryPage } },
    errors: notFound,
  }),
  redeliverWebhook: operation({
    ...shared,
    method: 'POST',
    path: `${path}/{endpointId}/deliveries/{deliveryId}/redeliver`,
    summary: 'Send a delivery again',
    description: 'Gives the delivery six new attempts, the first at once. A delivery under way stays as it is.',
    params: Type.Object({ ...EndpointPath.properties, deliveryId: Uuid }),
    responses: { 202: { description: 'The delivery is due.', schema: WebhookDeliveryEnvelope } },
    errors: [...notFound, 'webhook_delivery_not_found'],
  }),
  replayWebhook: operation({
    ...shared,
    method: 'POST',
    path: `${path}/{endpointId}/replay`,
    summary: "Send a Session's Events again",
    description:
      'Queues Events of the families of the endpoint, in order, at most 1 000. Those from before its registration are sent too.',
    params: EndpointPath,
    body: ReplayWebhook,
    responses: { 202: { description: 'The Events are queued.', schema: ReplayedWebhook } },
    errors: [...notFound, 'cloud_session_not_found'],
  }),
  pingWebhook: operation({
    ...shared,
    method: 'POST',
    path: `${path}/{endpointId}/ping`,
    summary: 'Send a ping',
    description: 'Sends a signed `svc.webhook.ping`, which is in no log.',
    params: EndpointPath,
    responses: { 202: { description: 'The ping is due.', schema: WebhookDeliveryEnvelope } },
    errors: notFound,
  }),
} as const
