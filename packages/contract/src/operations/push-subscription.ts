import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { PushSubscriptionEnvelope, PushSubscriptionList, PutPushSubscription } from '../push-subscription.ts'
import { Uuid } from '../scalar.ts'

const shared = {
  access: 'bearer',
  principal: 'person',
  tag: 'Sessions',
  capability: 'svc.cloud.sessions:read',
} as const
const path = '/cloud/push-subscriptions'
const params = Type.Object({ subscriptionId: Uuid })

/** Browsers that are told of a person's Sessions while no page is open. */
export const pushSubscriptionOperations = {
  listPushSubscriptions: operation({
    ...shared,
    method: 'GET',
    path,
    summary: 'List the browsers that are pushed to',
    description: "The membership's own, and the key that a browser subscribes with.",
    responses: { 200: { description: 'The browsers.', schema: PushSubscriptionList } },
    errors: [],
  }),
  putPushSubscription: operation({
    ...shared,
    method: 'PUT',
    path: `${path}/{subscriptionId}`,
    summary: 'Push to a browser',
    description:
      'Lasts until it is deleted, the push service ends it, the sign-in or the membership ends, or the browser has not repeated it for thirty days. A membership has at most 20; the one that was not repeated for the longest time gives way.',
    params,
    body: PutPushSubscription,
    responses: { 200: { description: 'The browser.', schema: PushSubscriptionEnvelope } },
    errors: ['invalid_url', 'cloud_push_subscription_not_found'],
  }),
  deletePushSubscription: operation({
    ...shared,
    method: 'DELETE',
    path: `${path}/{subscriptionId}`,
    summary: 'Push to a browser no longer',
    params,
    responses: { 204: { description: 'Nothing is pushed there any more.' } },
    errors: ['cloud_push_subscription_not_found'],
  }),
  testPushSubscription: operation({
    ...shared,
    method: 'POST',
    path: `${path}/{subscriptionId}/test`,
    summary: 'Push a test to a browser',
    params,
    responses: { 204: { description: 'It is on its way.' } },
    errors: ['cloud_push_subscription_not_found'],
  }),
} as const
