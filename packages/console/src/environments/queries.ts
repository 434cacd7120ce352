import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { berth } from '../api/client.ts'

/** The environments of the organization by name. */
export const environmentsQuery = (archived: boolean) =>
  infiniteQueryOptions({
    queryKey: ['environments', { archived }],
    queryFn: ({ pageParam, signal }) =>
      berth.call(
        'listEnvironments',
        {
          query: {
            limit: 50,
            ...(archived ? { archived: 'only' } : {}),
            ...(pageParam === '' ? {} : { cursor: pageParam }),
          },
        },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
  })

export const environmentQuery = (id: string) =>
  queryOptions({
    queryKey: ['environment', id],
    queryFn: async ({ signal }) => (await berth.call('getEnvironment', { environmentId: id }, { signal })).environment,
    // Somebody else may save a revision while the page is open.
    refetchInterval: 30_000,
  })

/** The revisions of an environment, newest first. */
export const revisionsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['environment', id, 'revisions'],
    queryFn: ({ pageParam, signal }) =>
      berth.call(
        'listEnvironmentRevisions',
        { environmentId: id, query: { limit: 50, ...(pageParam === 0 ? {} : { before: pageParam }) } },
        { signal },
      ),
    initialPageParam: 0,
    getNextPageParam: page => page.nextBefore ?? undefined,
  })

/** The extensions that the operator offers. */
export const catalogQuery = queryOptions({
  queryKey: ['extensions'],
  staleTime: 5 * 60_000,
  queryFn: ({ signal }) => berth.call('listExtensions', {}, { signal }),
})
