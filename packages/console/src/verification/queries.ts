import { queryOptions } from '@tanstack/react-query'
import { berth } from '../api/client.ts'

/** The newest verifications of a Session. Its log tells of their begin and end; in between, they are asked for. */
export const verificationsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'verifications'],
    queryFn: async ({ signal }) =>
      (await berth.call('listVerifications', { sessionId, query: { limit: 50 } }, { signal })).verifications,
    refetchInterval: ({ state }) =>
      state.data?.some(({ completedAt }) => completedAt === undefined) === true ? 1_500 : false,
  })
