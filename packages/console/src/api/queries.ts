import { BerthError } from '@berth/client'
import type { NextTurn } from '@berth/contract'
import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { berth, call } from './client.ts'
import { isOutside, needsSignIn, signIn, viewerQuery } from './identity.ts'

function onError(error: unknown): void {
  if (needsSignIn(error)) void signIn()
  // The page begins anew, in another organization of the person or with word that there is none.
  if (isOutside(error)) location.assign('/')
  // A role may be lost while a page is open.
  if (error instanceof BerthError && error.status === 403) void queryClient.invalidateQueries(viewerQuery)
}

/** Every answer of the service that the page keeps, apart from logs. The client package retries, so this does not. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: { queries: { retry: false, staleTime: 15_000, gcTime: 10 * 60_000 } },
})

export const sessionQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id],
    queryFn: async ({ signal }) => (await berth.call('getSession', { sessionId: id }, { signal })).session,
  })

export const interactionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id, 'interactions'],
    queryFn: async ({ signal }) => (await berth.call('listInteractions', { sessionId: id }, { signal })).interactions,
  })

/** The message that waits in a Session until its Run ends, or that was given back; null if there is none. */
export const nextTurnQuery = (id: string) =>
  queryOptions({
    queryKey: ['session', id, 'next-turn'],
    queryFn: async () => (await call<{ nextTurn: NextTurn | null }>('GET', `sessions/${id}/next-turn`)).nextTurn,
  })

/**
 * Shows the pending message from a change's answer, and reads it again: an answer that
 * was asked for before the change may come after it, and the message may have been sent meanwhile.
 */
export function cacheNextTurn(sessionId: string, nextTurn: NextTurn | null): void {
  const { queryKey } = nextTurnQuery(sessionId)
  queryClient.setQueryData(queryKey, nextTurn)
  // It also cancels a read on its way.
  void queryClient.invalidateQueries({ queryKey, exact: true })
}

export const runtimesQuery = queryOptions({
  queryKey: ['runtimes'],
  staleTime: 60_000,
  queryFn: async ({ signal }) => (await berth.call('listRuntimes', {}, { signal })).runtimes,
})
