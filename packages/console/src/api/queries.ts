import { infiniteQueryOptions, QueryClient, queryOptions } from '@tanstack/react-query'
import { berth } from './client.ts'
import { needsSignIn, signIn } from './identity.ts'

/** Every answer of the service that the page keeps, apart from logs. The client package retries, so this does not. */
export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 15_000, gcTime: 10 * 60_000 },
    mutations: {
      retry: false,
      onError: error => {
        if (needsSignIn(error)) void signIn()
      },
    },
  },
})

/** The Sessions, most recently changed first. */
export const sessionsQuery = (archived: boolean) =>
  infiniteQueryOptions({
    queryKey: ['sessions', { archived }],
    queryFn: ({ pageParam, signal }) =>
      berth.sessions.list(
        { limit: 50, ...(archived ? { archived: 'only' } : {}), ...(pageParam === '' ? {} : { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
    refetchInterval: 15_000,
  })

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: async ({ signal }) => (await berth.sessions.get(id, { signal })).session,
  })

export const interactionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id, 'interactions'],
    queryFn: async ({ signal }) => (await berth.interactions.list(id, { signal })).interactions,
  })

export const runtimesQuery = queryOptions({
  queryKey: ['runtimes'],
  staleTime: 60_000,
  queryFn: async ({ signal }) => (await berth.runtimes({ signal })).runtimes,
})
