import { randomUUID } from 'node:crypto'
import { readPage } from '@berth/platform/kit/list-cursor.ts'
import { refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../accounts/audit/append.ts'
import { personEntry } from '../accounts/audit/person-entry.ts'
import type { Context } from '../context.ts'
import type { AccountHandlers } from '../http/routing/handler.ts'
import type { PersonPrincipal } from '../identity/guard/principal.ts'
import { findDelivery, listDeliveries, queueBody, redeliver, toDelivery } from './delivery-log-sql.ts'
import { findAppInstallation, listEndpoints } from './endpoint-sql.ts'
import { replaySession } from './replay-session.ts'

/** The operations on the deliveries of an endpoint. */
export function webhookDeliveryHandlers({
  db,
  blobs,
  clock,
  wakeups,
}: Pick<Context, 'db' | 'blobs' | 'clock' | 'wakeups'>): Pick<
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

  const deliveryOf = async (tx: Queryable, endpointId: string, id: string) => {
    const row = await findDelivery(tx, endpointId, id)
    if (row === null) throw refusal('webhook_delivery_not_found')
    return { success: true, delivery: toDelivery(row) }
  }

  return {
    listWebhookDeliveries: async ({ principal, params, query: { limit, cursor, status = null } }) => {
      const { id } = await endpointOf(principal, params)
      const list = `webhook-deliveries/${id}/${status ?? ''}`
      const { page, nextCursor, hasMore } = await readPage(list, { cursor, limit }, (before, most) =>
        listDeliveries(db, id, { before, status, limit: most }),
      )
      return { status: 200, body: { success: true, deliveries: page.map(toDelivery), nextCursor, hasMore } }
    },

    redeliverWebhook: async ({ principal, params, clientAddress }) => {
      const { id, installationId } = await endpointOf(principal, params)
      const { deliveryId } = params
      const body = await db.transaction(async tx => {
        await redeliver(tx, id, deliveryId, clock.now())
        const due = await deliveryOf(tx, id, deliveryId)
        const audited = { target: `webhook endpoint ${id}`, details: { installationId, deliveryId } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'webhook.redelivered', audited), clock.now())
        return due
      })
      wakeups.publish(topics.webhooks)
      return { status: 202, body }
    },

    replayWebhook: async ({ principal, params, body: { sessionId, after = 0 }, clientAddress }) => {
      const endpoint = await endpointOf(principal, params)
      const { id, installationId, families } = endpoint
      const request = { endpoint, sessionId, after, families }
      const sequences = await replaySession({ db, blobs, clock }, request, async (tx, sent) => {
        const details = { installationId, sessionId, after, queued: sent.length }
        const audited = { target: `webhook endpoint ${id}`, details }
        await appendAudit(tx, personEntry(principal, clientAddress, 'webhook.replayed', audited), clock.now())
      })
      if (sequences === null) throw sessionNotFound()
      const last = sequences.at(-1)
      wakeups.publish(topics.webhooks)
      const queued = { queued: sequences.length, ...(last !== undefined && { lastSequence: last }) }
      return { status: 202, body: { success: true, ...queued } }
    },

    pingWebhook: async ({ principal, params, clientAddress }) => {
      const { id: endpointId, installationId, organizationId } = await endpointOf(principal, params)
      const deliveryId = randomUUID()
      const now = clock.now()
      const ping = { id: randomUUID(), type: 'svc.webhook.ping', createdAt: now.toISOString(), data: { endpointId } }
      const body = await db.transaction(async tx => {
        await queueBody(tx, { endpointId, organizationId, deliveryId }, JSON.stringify(ping), now)
        const audited = { target: `webhook endpoint ${endpointId}`, details: { installationId, deliveryId } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'webhook.pinged', audited), now)
        return deliveryOf(tx, endpointId, deliveryId)
      })
      wakeups.publish(topics.webhooks)
      return { status: 202, body }
    },
  }
}
