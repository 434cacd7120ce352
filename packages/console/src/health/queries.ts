import type { Health } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** The health of the service and its queues. A change of a Session reads it again; hosts are in no feed, so it is also polled every half minute. */
export const healthQuery = queryOptions({
  queryKey: ['health'],
  staleTime: 5_000,
  refetchInterval: 30_000,
  refetchIntervalInBackground: false,
  queryFn: () => call<Health>('GET', 'health'),
})
