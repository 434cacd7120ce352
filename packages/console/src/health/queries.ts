import type { Health } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** What works and what waits. A change of a Session asks again; hosts are in no feed, so a glance each half minute does. */
export const healthQuery = queryOptions({
  queryKey: ['health'],
  staleTime: 5_000,
  refetchInterval: 30_000,
  refetchIntervalInBackground: false,
  queryFn: () => call<Health>('GET', 'health'),
})
