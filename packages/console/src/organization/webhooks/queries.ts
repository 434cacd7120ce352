import type { WebhookDelivery, WebhookEndpoint } from '@berth/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'
import type { DeliveryStatus } from '../../routing/to.ts'

/** An installation whose Sessions an endpoint hears of. */
export interface Place {
  readonly app: string
  readonly installation: string
}

/** Returns the path of an installation's endpoints. */
export function webhooksPath({ app, installation }: Place): string {
  return `account/apps/${encodeURIComponent(app)}/installations/${encodeURIComponent(installation)}/webhooks`
}

/** Registers an address for an installation. The secret is told this once. */
export function registerEndpoint(
  place: Place,
  { url, families }: Pick<WebhookEndpoint, 'url'> & { readonly families: readonly string[] },
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  return call('POST', webhooksPath(place), { url, families })
}

/** The endpoints of an installation in the order of their registration. */
export const endpointsQuery = (organizationId: string, place: Place) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'webhooks', place.app, place.installation],
    queryFn: async () => (await call<{ endpoints: readonly WebhookEndpoint[] }>('GET', webhooksPath(place))).endpoints,
    // How the last delivery went is part of it, and no stream tells of that.
    refetchInterval: 10_000,
  })

interface DeliveryPage {
  readonly deliveries: readonly WebhookDelivery[]
  readonly nextCursor: string | null
  readonly hasMore: boolean
}

/** The deliveries of an endpoint, newest first. */
export const deliveriesQuery = (
  organizationId: string,
  place: Place,
  endpointId: string,
  status: DeliveryStatus | undefined,
) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'deliveries', endpointId, status ?? 'all'],
    queryFn: ({ pageParam }) => {
      const query = new URLSearchParams({
        limit: '50',
        ...(status === undefined ? {} : { status }),
        ...(pageParam === '' ? {} : { cursor: pageParam }),
      })
      return call<DeliveryPage>('GET', `${webhooksPath(place)}/${endpointId}/deliveries?${query}`)
    },
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
    // No stream reports deliveries. Only unfinished ones change by themselves.
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ deliveries }) => deliveries.some(isUnderWay)) === true ? 2_000 : 10_000,
  })

const isUnderWay = ({ status }: WebhookDelivery): boolean => status === 'pending'

/** Asks again for endpoints and deliveries. */
export function refreshWebhooks(organizationId: string): void {
  for (const part of ['webhooks', 'deliveries']) {
    void queryClient.invalidateQueries({ queryKey: ['organization', organizationId, part] })
  }
}
