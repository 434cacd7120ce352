import { hasCode } from '@berth/client'
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { berth } from '../api/client.ts'
import type { PullListSearch } from '../routing/to.ts'

/** The pull requests that Sessions have published, the last changed first. A host tells this page of nothing, so it asks. */
export const pullRequestsQuery = ({ state, everyone }: PullListSearch) =>
  infiniteQueryOptions({
    queryKey: ['pull-requests', { state, everyone }],
    queryFn: ({ pageParam, signal }) =>
      berth.call(
        'listPullRequests',
        {
          query: {
            limit: 50,
            ...(state !== undefined && { state }),
            ...(everyone !== true && { mine: 'true' as const }),
            ...(pageParam !== '' && { cursor: pageParam }),
          },
        },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: page => (page.hasMore ? (page.nextCursor ?? undefined) : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })

/** The follow-up of the pull request of a Publication; null if nothing follows it. */
export const followUpQuery = (sessionId: string, publicationId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'follow-up', publicationId],
    queryFn: async ({ signal }) => {
      try {
        return (await berth.call('getFollowUp', { sessionId, publicationId }, { signal })).followUp
      } catch (error) {
        if (hasCode(error, 'cloud_follow_up_not_found')) return null
        throw error
      }
    },
    // Its Events tell of attempts and its end; the state of the pull request changes in between.
    refetchInterval: ({ state }) => (state.data?.endedAt === undefined && state.data != null ? 15_000 : false),
  })
