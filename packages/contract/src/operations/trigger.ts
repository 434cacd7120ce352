import { Type } from 'typebox'
import { triggerLimits } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed, someText, Uuid } from '../scalar.ts'
import {
  HookAnswer,
  HookBody,
  PutTrigger,
  PutTriggerDelivery,
  ReplaceTriggerSecret,
  TriggerDeliveryEnvelope,
  TriggerDeliveryList,
  TriggerEnvelope,
  TriggerList,
  TriggerSecret,
} from '../trigger.ts'
import { pageLimit } from './parameters.ts'

const TriggerPath = Type.Object({ triggerId: Uuid })

/** Installations manage their own triggers; people who manage integrations those of every installation. */
const shared = {
  tag: 'Triggers',
  access: 'bearer',
  capability: 'svc.cloud.sessions:create',
  permission: 'organization.integrations.manage',
} as const

/** Schedules and deliveries of other systems, which make Sessions; a service may be built without their paths. */
export const triggerOperations = {
  listTriggers: operation({
    ...shared,
    method: 'GET',
    path: '/v1/triggers',
    summary: 'List triggers',
    description:
      'Lists the triggers of the installation by name, or, for a person, those of all installations of the organization. An installation has at most 100.',
    responses: { 200: { description: 'All of them.', schema: TriggerList } },
    errors: ['unknown_endpoint'],
  }),
  getTrigger: operation({
    ...shared,
    method: 'GET',
    path: '/v1/triggers/{triggerId}',
    summary: 'Read a trigger',
    params: TriggerPath,
    responses: { 200: { description: 'The trigger.', schema: TriggerEnvelope } },
    errors: ['unknown_endpoint', 'trigger_not_found'],
  }),
  putTrigger: operation({
    ...shared,
    recent: true,
    method: 'PUT',
    path: '/v1/triggers/{triggerId}',
    summary: 'Create or replace a trigger',
    description:
      "Writes the whole trigger under an id that the caller chooses. A schedule that has changed counts from now on. Its Sessions are the installation's, which must be allowed to create some.",
    params: TriggerPath,
    body: PutTrigger,
    responses: {
      200: { description: 'It was replaced.', schema: TriggerEnvelope },
      201: { description: 'It was created.', schema: TriggerEnvelope },
    },
    errors: [
      'unknown_endpoint',
      'installation_not_found',
      'trigger_not_found',
      'trigger_limit_reached',
      'environment_forbidden',
      'environment_not_found',
      'environment_conflict',
    ],
  }),
  deleteTrigger: operation({
    ...shared,
    recent: true,
    method: 'DELETE',
    path: '/v1/triggers/{triggerId}',
    summary: 'Delete a trigger',
    description: 'Its Sessions stay; deliveries that still wait are dropped. Idempotent.',
    params: TriggerPath,
    responses: { 204: { description: 'There is no such trigger.' } },
    errors: ['unknown_endpoint'],
  }),
  listTriggerDeliveries: operation({
    ...shared,
    method: 'GET',
    path: '/v1/triggers/{triggerId}/deliveries',
    summary: 'List deliveries of a trigger',
    description: 'Lists the latest deliveries, newest first. Those that have ended are kept for 30 days.',
    params: TriggerPath,
    query: Type.Object({ limit: pageLimit(triggerLimits.deliveries) }, closed),
    responses: { 200: { description: 'The latest ones.', schema: TriggerDeliveryList } },
    errors: ['unknown_endpoint', 'trigger_not_found'],
  }),
  putTriggerDelivery: operation({
    tag: 'Triggers',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    principal: 'app_installation',
    method: 'PUT',
    path: '/v1/triggers/{triggerId}/deliveries/{key}',
    summary: 'Fire a trigger',
    description:
      'Takes a delivery under the id that its sender gave it, and makes one Session of it, however often it is repeated. The Session is made within seconds of the answer.',
    params: Type.Object({
      triggerId: Uuid,
      key: someText(triggerLimits.keyCharacters, { pattern: '^[!-~]+$' }),
    }),
    body: PutTriggerDelivery,
    responses: { 202: { description: 'The delivery as it is now.', schema: TriggerDeliveryEnvelope } },
    errors: ['unknown_endpoint', 'trigger_not_found', 'trigger_disabled', 'trigger_backlog_full'],
  }),
  replaceTriggerSecret: operation({
    ...shared,
    recent: true,
    method: 'POST',
    path: '/v1/triggers/{triggerId}/secret',
    summary: 'Replace the secret of a trigger',
    description:
      'Makes a secret with which other systems sign what they post, or takes one, and shows it this once. The one before stays good for a while.',
    params: TriggerPath,
    body: ReplaceTriggerSecret,
    responses: { 201: { description: 'The secret, and the address to post to.', schema: TriggerSecret } },
    errors: ['unknown_endpoint', 'trigger_not_found'],
  }),
  receiveHook: operation({
    method: 'POST',
    path: '/hooks/{hookId}',
    summary: 'Post to a trigger',
    description:
      'The address of a trigger for other systems, which sign the body by the scheme of the trigger. One key makes one Turn, however often it is posted. The answer to anything that is not signed is the same as if there were no such hook. It takes a signature in place of a bearer, so it lies outside `/v1`; the address below `/v1` that triggers were given before answers as well.',
    tag: 'Triggers',
    access: 'signed',
    params: Type.Object({ hookId: Uuid }),
    body: HookBody,
    responses: {
      200: { description: 'Nothing is to be made of it.', schema: HookAnswer },
      202: { description: 'The delivery as it is now.', schema: HookAnswer },
    },
    errors: ['unknown_endpoint', 'trigger_disabled', 'trigger_backlog_full'],
  }),
} as const
