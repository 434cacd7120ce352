import type { SessionStatePage } from '@berth/contract'
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { SessionListSearch } from '../routing/to.ts'
import { beginningOf } from '../ui/format.ts'
import type { GroupId, ListedSession, ListPage } from './list-data.ts'

type Parameters = Readonly<Record<string, string>>

/** Open Sessions are requested whole, so that each is on the first page however old it is. */
const openLimit = '100'
const pageLimit = '50'

const read = (parameters: Parameters, signal: AbortSignal | undefined) =>
  call<SessionStatePage>('GET', `sessions?${new URLSearchParams(parameters)}`, undefined, signal)

function parametersOf({ q, state, mine, repository, archived }: SessionListSearch): Parameters {
  return {
    ...(q === undefined ? {} : { q: beginningOf(q, 160) }),
    ...(state === undefined ? {} : { state }),
    ...(mine === undefined ? {} : { mine: '1' }),
    ...(repository === undefined ? {} : { repository }),
    ...(archived === undefined ? {} : { archived: 'only' }),
  }
}

/** A last page has a cursor too, from which nothing follows. */
const cursorOf = (page: SessionStatePage | undefined) => (page?.hasMore === true ? page.nextCursor : null)

/** Reads waiting, working and pinned Sessions whole, and the beginning of the rest. */
async function readGroups(filters: Parameters, signal: AbortSignal): Promise<ListPage> {
  const parts: readonly (readonly [GroupId, Parameters])[] = [
    ['needs_you', { state: 'needs_you', limit: openLimit }],
    ['working', { state: 'working', limit: openLimit }],
    ['pinned', { state: 'rest', pinned: '1', limit: openLimit }],
    ['rest', { state: 'rest', limit: pageLimit }],
  ]
  const pages = await Promise.all(parts.map(([, part]) => read({ ...filters, ...part }, signal)))
  return {
    sessions: pages.flatMap(({ sessions }) => sessions),
    nextCursor: cursorOf(pages.at(-1)),
    cut: parts.flatMap(([id], at) => (id !== 'rest' && pages[at]?.hasMore === true ? [id] : [])),
  }
}

/** The Sessions that the filters leave. The feed keeps the first page true; more pages hold the rest. */
export const sessionListQuery = (search: SessionListSearch) => {
  const filters = parametersOf(search)
  const split = search.state === undefined && search.archived === undefined
  return infiniteQueryOptions({
    queryKey: ['sessions', filters],
    queryFn: async ({ pageParam, signal }): Promise<ListPage> => {
      if (split && pageParam === '') return readGroups(filters, signal)
      const page = { ...filters, ...(split ? { state: 'rest' } : {}), limit: pageLimit }
      const answer = await read({ ...page, ...(pageParam === '' ? {} : { cursor: pageParam }) }, signal)
      return { sessions: answer.sessions, nextCursor: cursorOf(answer), cut: [] }
    },
    initialPageParam: '',
    getNextPageParam: page => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

/** Reads one Session as the list with this key has it; none if its filters leave it out. */
export async function readListed(
  key: ReturnType<typeof sessionListQuery>['queryKey'],
  id: string,
): Promise<readonly ListedSession[]> {
  const filters = key[1] as Parameters
  return (await read({ ...filters, q: `${filters['q'] ?? ''} ${id}`.trim(), limit: '1' }, undefined)).sessions
}
