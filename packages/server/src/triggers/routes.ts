import type { Trigger } from '@berth/contract'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { refusal } from '../kit/refusal.ts'
import { listDeliveries } from './delivery-sql.ts'
import { replaceTriggerSecret } from './hook-secret.ts'
import { putTrigger } from './put-trigger.ts'
import { receiveHook } from './receive-hook.ts'
import { takeDelivery } from './take-delivery.ts'
import { hookUrlOf, toDelivery, toReportedDelivery, toTrigger } from './trigger.ts'
import { deleteTrigger, findTrigger, listTriggers, type OwnedTriggerKey, type TriggerRow } from './trigger-sql.ts'

type Operations =
  | 'listTriggers'
  | 'getTrigger'
  | 'putTrigger'
  | 'deleteTrigger'
  | 'listTriggerDeliveries'
  | 'putTriggerDelivery'
  | 'replaceTriggerSecret'
  | 'receiveHook'

/** Serves the triggers of an installation over HTTP. */
export function triggerHandlers(
  context: Context,
  { baseUrl }: { readonly baseUrl: () => string },
): Pick<Handlers, Operations> {
  const { db, clock } = context
  return {
    listTriggers: async ({ principal }) => ({
      status: 200,
      body: { triggers: (await listTriggers(db, ownerOf(principal))).map(view) },
    }),
    getTrigger: async ({ principal, params }) => ({
      status: 200,
      body: { trigger: view(await requireTrigger(keyOf(principal, params))) },
    }),
    putTrigger: async ({ principal, params, body }) => {
      const { row, created } = await putTrigger(context, principal, keyOf(principal, params), body)
      return {
        status: created ? 201 : 200,
        body: { trigger: view(row) },
        headers: { location: `/v1/triggers/${row.id}` },
      }
    },
    deleteTrigger: async ({ principal, params }) => {
      await deleteTrigger(db, keyOf(principal, params))
      return { status: 204 }
    },
    listTriggerDeliveries: async ({ principal, params, query }) => {
      const key = keyOf(principal, params)
      await requireTrigger(key)
      const rows = await listDeliveries(db, key, query.limit)
      return { status: 200, body: { deliveries: rows.map(toReportedDelivery) } }
    },
    putTriggerDelivery: async ({ principal, params, body }) => {
      const taken = await takeDelivery(context, keyOf(principal, params), params.key, body)
      return { status: 202, body: { delivery: toDelivery(taken) } }
    },
    replaceTriggerSecret: async ({ principal, params, body }) => {
      const { secret, row } = await replaceTriggerSecret(db, keyOf(principal, params), body, clock.now())
      const until = row.previous_until?.toISOString()
      const url = hookUrlOf(row, baseUrl())
      return { status: 201, body: { secret, url, ...(until !== undefined && { previousSecretUntil: until }) } }
    },
    receiveHook: async ({ params, ...posted }) => receiveHook(context, params.hookId, posted),
  }

  function view(row: TriggerRow): Trigger {
    return toTrigger(row, baseUrl())
  }

  async function requireTrigger(key: OwnedTriggerKey) {
    const row = await findTrigger(db, key)
    if (row === null) throw refusal('trigger_not_found')
    return row
  }
}

const ownerOf = ({ organizationId, id }: Principal) => ({ organizationId, installationId: id })

const keyOf = (principal: Principal, { triggerId }: { readonly triggerId: string }): OwnedTriggerKey => ({
  ...ownerOf(principal),
  triggerId,
})
