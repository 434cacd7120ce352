import type { PutTrigger, Trigger, TriggerDelivery } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'

/** Creates a trigger, or replaces it. */
export function putTrigger(triggerId: string, body: PutTrigger): Promise<{ trigger: Trigger }> {
  return call('PUT', `v1/triggers/${triggerId}`, body)
}

/** The triggers of an organization by name. */
export const triggersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'triggers'],
    queryFn: async () => (await call<{ triggers: readonly Trigger[] }>('GET', 'v1/triggers')).triggers,
  })

/** The latest deliveries of a trigger, newest first. */
export const triggerDeliveriesQuery = (organizationId: string, id: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'trigger-deliveries', id],
    queryFn: async () =>
      (await call<{ deliveries: readonly TriggerDelivery[] }>('GET', `v1/triggers/${id}/deliveries`)).deliveries,
    // No stream reports deliveries. Only pending ones change soon.
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === 'waiting') === true ? 2_000 : 10_000),
  })

/** Asks again for triggers and their deliveries. */
export function refreshTriggers(organizationId: string): void {
  for (const part of ['triggers', 'trigger-deliveries']) {
    void queryClient.invalidateQueries({ queryKey: ['organization', organizationId, part] })
  }
}
