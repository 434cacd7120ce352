import { randomUUID } from 'node:crypto'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import type { WebhookParts } from '@berth/core/webhooks/routes.ts'
import { findAddresses } from '@berth/core/webhooks/webhook-addresses.ts'
import { readWebhookUrl } from '@berth/core/webhooks/webhook-url.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { personOf } from '../person-of.ts'
import { queueTest } from './delivery-sql.ts'
import { isPublicKey } from './encrypt.ts'
import { type PushKeys, readPushKeys } from './push-keys.ts'
import { digestOf, SUBSCRIBED_MS, sealSubscribed, toPushSubscription } from './subscription.ts'
import { deleteSubscription, listSubscriptions, putSubscription } from './subscription-sql.ts'

/** Browsers of one membership. */
const MOST_BROWSERS = 20
/** Longest wait for DNS when a browser subscribes. */
const RESOLVE_MS = 5_000

type Operations = 'listPushSubscriptions' | 'putPushSubscription' | 'deletePushSubscription' | 'testPushSubscription'

/** Serves the browsers to which a person's notifications are pushed. */
export function pushHandlers(
  context: Context,
  { masterKey, rules, network }: WebhookParts,
): Pick<Handlers, Operations> {
  const { db, clock, wakeups } = context
  let known: PushKeys | null = null
  const keys = async () => (known ??= await readPushKeys(context, masterKey))

  return {
    listPushSubscriptions: async ({ principal }) => {
      const { membershipId } = personOf(principal)
      const rows = await listSubscriptions(db, membershipId, new Date(clock.now().getTime() - SUBSCRIBED_MS))
      const { publicKey } = await keys()
      return { status: 200, body: { publicKey, subscriptions: rows.map(toPushSubscription) } }
    },

    putPushSubscription: async ({ principal, params: { subscriptionId: id }, body, headers, signal }) => {
      const { id: personId, membershipId, organizationId, signInId } = personOf(principal)
      const { endpoint, needsYou, runEnded } = body
      const [p256dh, auth] = [Buffer.from(body.p256dh, 'base64url'), Buffer.from(body.auth, 'base64url')]
      if (!isPublicKey(p256dh)) throw refusal('invalid_request')
      const read = readWebhookUrl(endpoint, rules)
      if (read === null) throw refusal('invalid_url')
      // It is judged again at each push; a person hears of it now.
      const patience = AbortSignal.any([signal, AbortSignal.timeout(RESOLVE_MS)])
      await findAddresses(read, rules, network, patience).catch(cause => {
        throw new ApiError(400, 'invalid_url', { cause })
      })
      const subscription = {
        id,
        endpointDigest: digestOf(endpoint),
        sealed: sealSubscribed(masterKey, id, { endpoint, p256dh, auth }),
        agent: String(headers['user-agent'] ?? '').slice(0, 400) || null,
        needsYou,
        runEnded,
      }
      const of = { personId, membershipId, organizationId, signInId }
      const row = await db.transaction(tx => putSubscription(tx, of, subscription, clock.now(), MOST_BROWSERS))
      if (row === null) throw refusal('cloud_push_subscription_not_found')
      wakeups.publish(topics.pushes)
      return { status: 200, body: { subscription: toPushSubscription(row) } }
    },

    deletePushSubscription: async ({ principal, params: { subscriptionId } }) => {
      const { membershipId } = personOf(principal)
      if (!(await deleteSubscription(db, membershipId, subscriptionId))) {
        throw refusal('cloud_push_subscription_not_found')
      }
      return { status: 204 }
    },

    testPushSubscription: async ({ principal, params: { subscriptionId } }) => {
      const { membershipId } = personOf(principal)
      const test = { id: randomUUID(), membershipId, subscriptionId, now: clock.now() }
      if (!(await queueTest(db, test))) throw refusal('cloud_push_subscription_not_found')
      wakeups.publish(topics.pushes)
      return { status: 204 }
    },
  }
}
