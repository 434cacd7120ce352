import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import type { AccountHandlers } from '../http/routing/handler.ts'
import type { PersonPrincipal } from '../identity/guard/principal.ts'
import { decodeCursor, pageOf } from '../kit/list-cursor.ts'
import { refusal, sessionNotFound } from '../kit/refusal.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import { findDelivery, listDeliveries, queueBody, redeliver, replay, toDelivery } from './delivery-log-sql.ts'
import { findAppInstallation, listEndpoints } from './endpoint-sql.ts'

/** The operations on the deliveries of an endpoint. */
export function webhookDeliveryHandlers({
  db,
  clock,
  wakeups,
}: Pick<Context, 'db' | 'clock' | 'wakeups'>): Pick<
  AccountHandlers,
  'listWebhookDeliveries' | 'redeliverWebhook' | 'replayWebhook' | 'pingWebhook'
> {
  const endpointOf = async (
    { organizationId: publisherId }: PersonPrincipal,
    { appSlug, installationId, endpointId }: Record<'appSlug' | 'installationId' | 'endpointId', string>,
  ) => {
    const installation = await findAppInstallation(db, { publisherId, appSlug, installationId })
    if (installation === null) throw refusal('installation_not_found')
    const found = (await listEndpoints(db, installationId)).find(({ id }) => id === endpointId)
    if (found === undefined) throw refusal('webhook_endpoint_not_found')
    return { id: endpointId, installationId, organizationId: installation.organization_id, families: found.families }
  }

  const deliveryOf = async (endpointId: string, id: string) => {
    const row = await findDelivery(db, endpointId, id)
    if (row === null) throw refusal('webhook_delivery_not_found')
    return { success: true, delivery: toDelivery(row) }
  }

  return {
    listWebhookDeliveries: async ({ principal, params, query: { limit, cursor, status = null } }) => {
      const { id } = await endpointOf(principal, params)
      const list = `webhook-deliveries/${id}/${status ?? ''}`
      const before = cursor === undefined ? null : decodeCursor(list, cursor)
      const rows = await listDeliveries(db, id, { before, status, limit: limit + 1 })
      const { page, nextCursor, hasMore } = pageOf(list, rows, limit, row => row.created_at)
      return { status: 200, body: { success: true, deliveries: page.map(toDelivery), nextCursor, hasMore } }
    },

    redeliverWebhook: async ({ principal, params }) => {
      const { id } = await endpointOf(principal, params)
      await redeliver(db, id, params.deliveryId, clock.now())
      const body = await deliveryOf(id, params.deliveryId)
      wakeups.publish(topics.webhooks)
      return { status: 202, body }
    },

    replayWebhook: async ({ principal, params, body: { sessionId, after = 0 } }) => {
      const endpoint = await endpointOf(principal, params)
      const asked = { sessionId, after, families: endpoint.families }
      const sequences = await replay(db, endpoint, asked, clock.now())
      if (sequences === null) throw sessionNotFound()
      const last = sequences.at(-1)
      wakeups.publish(topics.webhooks)
      const queued = { queued: sequences.length, ...(last !== undefined && { lastSequence: last }) }
      return { status: 202, body: { success: true, ...queued } }
    },

    pingWebhook: async ({ principal, params }) => {
      const { id: endpointId, organizationId } = await endpointOf(principal, params)
      const deliveryId = randomUUID()
      const now = clock.now()
      const ping = { id: randomUUID(), type: 'svc.webhook.ping', createdAt: now.toISOString(), data: { endpointId } }
      await queueBody(db, { endpointId, organizationId, deliveryId }, JSON.stringify(ping), now)
      wakeups.publish(topics.webhooks)
      return { status: 202, body: await deliveryOf(endpointId, deliveryId) }
    },
  }
}
