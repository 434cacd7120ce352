import type { Trigger } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { listDeliveries } from './delivery-sql.ts'
import { replaceTriggerSecret } from './hook-secret.ts'
import { audited, findManaged, keyOf, listManaged, ownerToWrite } from './managed-triggers.ts'
import { putTrigger } from './put-trigger.ts'
import { receiveHook } from './receive-hook.ts'
import { takeDelivery } from './take-delivery.ts'
import { hookUrlOf, toDelivery, toReportedDelivery, toTrigger } from './trigger.ts'
import { deleteTrigger, type TriggerRow } from './trigger-sql.ts'

type Operations =
  | 'listTriggers'
  | 'getTrigger'
  | 'putTrigger'
  | 'deleteTrigger'
  | 'listTriggerDeliveries'
  | 'putTriggerDelivery'
  | 'replaceTriggerSecret'
  | 'receiveHook'

/** Serves triggers to installations and to people who manage integrations, whose changes are in the audit log. */
export function triggerHandlers(
  context: Context,
  { baseUrl }: { readonly baseUrl: () => string },
): Pick<Handlers, Operations> {
  const { db, clock } = context
  return {
    listTriggers: async ({ principal }) => ({
      status: 200,
      body: { triggers: (await listManaged(context, principal)).map(view) },
    }),
    getTrigger: async ({ principal, params }) => ({
      status: 200,
      body: { trigger: view(await requireTrigger(principal, params)) },
    }),
    putTrigger: async ({ principal, params: { triggerId }, body: { installationId, ...body }, clientAddress }) => {
      const owner = await ownerToWrite(context, principal, triggerId, installationId)
      const key = { organizationId: owner.organizationId, installationId: owner.id, triggerId }
      const also = audited(context, principal, clientAddress, 'trigger.written', key)
      const { row, created } = await putTrigger(context, owner, key, body, also)
      return {
        status: created ? 201 : 200,
        body: { trigger: view(row) },
        headers: { location: `/v1/triggers/${row.id}` },
      }
    },
    deleteTrigger: async ({ principal, params, clientAddress }) => {
      const found = await findManaged(context, principal, params.triggerId)
      if (found === null) return { status: 204 }
      const key = { ...keyOf(found), name: found.name }
      await db.transaction(async tx => {
        if (await deleteTrigger(tx, key)) await audited(context, principal, clientAddress, 'trigger.deleted', key)(tx)
      })
      return { status: 204 }
    },
    listTriggerDeliveries: async ({ principal, params, query }) => {
      const key = keyOf(await requireTrigger(principal, params))
      const rows = await listDeliveries(db, key, query.limit)
      return { status: 200, body: { deliveries: rows.map(toReportedDelivery) } }
    },
    putTriggerDelivery: async ({ principal: { organizationId, id }, params: { triggerId, key }, body }) => {
      const taken = await takeDelivery(context, { organizationId, installationId: id, triggerId }, key, body)
      return { status: 202, body: { delivery: toDelivery(taken) } }
    },
    replaceTriggerSecret: async ({ principal, params, body, clientAddress }) => {
      const key = keyOf(await requireTrigger(principal, params))
      const also = audited(context, principal, clientAddress, 'trigger.secret_replaced', key)
      const { secret, row } = await replaceTriggerSecret(db, key, body, clock.now(), also)
      const until = row.previous_until?.toISOString()
      const url = hookUrlOf(row, baseUrl())
      return { status: 201, body: { secret, url, ...(until !== undefined && { previousSecretUntil: until }) } }
    },
    receiveHook: async ({ params, ...posted }) => receiveHook(context, params.hookId, posted),
  }

  function view(row: TriggerRow): Trigger {
    return toTrigger(row, baseUrl())
  }

  async function requireTrigger(principal: Principal, { triggerId }: { readonly triggerId: string }) {
    const row = await findManaged(context, principal, triggerId)
    if (row === null) throw refusal('trigger_not_found')
    return row
  }
}
