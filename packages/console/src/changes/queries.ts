import { queryOptions } from '@tanstack/react-query'
import { berth } from '../api/client.ts'

/** The changes of a Session as they are now. It writes a tree in the sandbox, so nothing asks on a timer. */
export const reviewQuery = (sessionId: string, editedAt: number) =>
  queryOptions({
    queryKey: ['session', sessionId, 'review', editedAt],
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await berth.publications.review(sessionId, { signal })).review,
  })

export const publicationsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'publications'],
    queryFn: async ({ signal }) => (await berth.publications.list(sessionId, { limit: 20 }, { signal })).publications,
    // A command is driven by workers; while one is under way, its state is asked for.
    refetchInterval: ({ state }) =>
      state.data?.some(({ completedAt }) => completedAt === undefined) === true ? 2_000 : false,
  })

export const mergesQuery = (sessionId: string, publicationId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'merges', publicationId],
    queryFn: async ({ signal }) =>
      (await berth.merges.list(sessionId, publicationId, { limit: 20 }, { signal })).merges,
    refetchInterval: ({ state }) =>
      state.data?.some(({ completedAt }) => completedAt === undefined) === true ? 3_000 : false,
  })
