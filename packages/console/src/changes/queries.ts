import type { LocalPull, PullChecks } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { berth, call } from '../api/client.ts'

/** The changes of a Session as they are now. It writes a tree in the sandbox, so nothing asks on a timer. */
export const reviewQuery = (sessionId: string, editedAt: number) =>
  queryOptions({
    queryKey: ['session', sessionId, 'review', String(editedAt)],
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await berth.call('reviewRepository', { sessionId }, { signal })).review,
  })

export const publicationsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'publications'],
    queryFn: async ({ signal }) =>
      (await berth.call('listPublications', { sessionId, query: { limit: 20 } }, { signal })).publications,
    // A command is driven by workers; while one is under way, its state is asked for.
    refetchInterval: ({ state }) =>
      state.data?.some(({ completedAt }) => completedAt === undefined) === true ? 2_000 : false,
  })

export const mergesQuery = (sessionId: string, publicationId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'merges', publicationId],
    queryFn: async ({ signal }) =>
      (await berth.call('listMerges', { sessionId, publicationId, query: { limit: 20 } }, { signal })).merges,
    refetchInterval: ({ state }) =>
      state.data?.some(({ completedAt }) => completedAt === undefined) === true ? 3_000 : false,
  })

/**
 * The obstacles to a merge of a Publication's pull request, with its checks. A Git host tells nobody when a check
 * changes, so it is asked again while the page is looked at: often while one is under way, else now and then.
 */
export const checksQuery = (sessionId: string, publicationId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'checks', publicationId],
    queryFn: ({ signal }) =>
      call<PullChecks>('GET', `sessions/${sessionId}/publications/${publicationId}/checks`, undefined, signal),
    refetchInterval: ({ state }) => refetchAfter(state.data),
  })

function refetchAfter(found: Pick<PullChecks, 'state' | 'checks'> | undefined): number | false {
  if (found !== undefined && found.state !== 'open') return false
  const changing = found?.checks.some(({ state }) => state === 'pending' || state === 'missing')
  return changing === true ? 5_000 : 30_000
}

/** More lines than any file has: the whole of it. */
export const everyLine = 1_000_000

/** Reads one file of a stored revision; it needs no sandbox. */
export const readReviewFile = (sessionId: string, revision: string, number: number, context: number) =>
  call<{ readonly patch: string | null; readonly expandable: boolean; readonly truncated: boolean }>(
    'GET',
    `sessions/${sessionId}/reviews/${revision}/files/${number}?context=${context}`,
  )

/** A pull request of a repository that the service itself hosts, with the reasons that keep it from being merged. */
export const localPullQuery = (repositoryId: string, number: number) =>
  queryOptions({
    queryKey: ['local-pull', repositoryId, number],
    // Nothing is worse to read than that a merged pull request waits for its merge.
    staleTime: 0,
    queryFn: async () =>
      (await call<{ pull: LocalPull }>('GET', `local-repositories/${repositoryId}/pulls/${number}`)).pull,
    refetchInterval: ({ state }) => refetchAfter(state.data),
  })

/** A revision as it was stored: it never changes, and needs no sandbox. */
export const storedReviewQuery = (sessionId: string, revision: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'stored-review', revision],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await berth.call('reviewRepository', { sessionId, query: { revision } }, { signal })).review,
  })
