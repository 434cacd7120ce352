import { Type } from 'typebox'
import { triggerLimits } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed, Uuid } from '../scalar.ts'
import {
  OrganizationTriggerList,
  PutTrigger,
  ReplaceTriggerSecret,
  TriggerDeliveryList,
  TriggerEnvelope,
  TriggerSecret,
} from '../trigger.ts'
import { pageLimit } from './parameters.ts'

const shared = { tag: 'Triggers', access: 'person', needs: 'organization.integrations.manage' } as const
const path = '/api/installations/{installationId}/triggers/{triggerId}'
const TriggerPath = Type.Object({ installationId: Uuid, triggerId: Uuid })
const notFound = ['installation_not_found', 'trigger_not_found'] as const

/** Triggers as those see them who manage integrations. The API answers: it makes the Sessions. */
export const organizationTriggerOperations = {
  listOrganizationTriggers: operation({
    ...shared,
    method: 'GET',
    path: '/api/organizations/{organizationId}/triggers',
    summary: "List an organization's triggers",
    description: 'Lists the triggers of all its installations by name.',
    params: Type.Object({ organizationId: Uuid }),
    responses: { 200: { description: 'All of them.', schema: OrganizationTriggerList } },
    errors: ['organization_not_found'],
  }),
  putInstallationTrigger: operation({
    ...shared,
    recent: true,
    method: 'PUT',
    path,
    summary: "Create or replace an installation's trigger",
    description:
      "Its Sessions are the installation's, which must be allowed to create some. Otherwise as `putTrigger`.",
    params: TriggerPath,
    body: PutTrigger,
    responses: {
      200: { description: 'It was replaced.', schema: TriggerEnvelope },
      201: { description: 'It was created.', schema: TriggerEnvelope },
    },
    errors: [
      ...notFound,
      'trigger_limit_reached',
      'environment_forbidden',
      'environment_not_found',
      'environment_conflict',
    ],
  }),
  deleteInstallationTrigger: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path,
    summary: "Delete an installation's trigger",
    description: 'Its Sessions stay; deliveries that still wait are dropped. Idempotent.',
    params: TriggerPath,
    responses: { 204: { description: 'There is no such trigger.' } },
    errors: ['installation_not_found'],
  }),
  listInstallationTriggerDeliveries: operation({
    ...shared,
    method: 'GET',
    path: `${path}/deliveries`,
    summary: "List deliveries of an installation's trigger",
    description: 'Lists the latest deliveries, newest first. Those that have ended are kept for 30 days.',
    params: TriggerPath,
    query: Type.Object({ limit: pageLimit(triggerLimits.deliveries) }, closed),
    responses: { 200: { description: 'The latest ones.', schema: TriggerDeliveryList } },
    errors: notFound,
  }),
  replaceInstallationTriggerSecret: operation({
    ...shared,
    recent: true,
    method: 'POST',
    path: `${path}/secret`,
    summary: "Replace the secret of an installation's trigger",
    description: 'As `replaceTriggerSecret`.',
    params: TriggerPath,
    body: ReplaceTriggerSecret,
    responses: { 201: { description: 'The secret, and the address to post to.', schema: TriggerSecret } },
    errors: notFound,
  }),
} as const
