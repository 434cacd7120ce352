import type { SessionStatePage } from '@berth/contract'
import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { serverNow } from '../api/server-clock.ts'
import type { SessionListSearch } from '../routing/to.ts'
import { beginningOf } from '../ui/format.ts'
import type { GroupId, ListedSession, ListPage } from './list-data.ts'

export type Parameters = Readonly<Record<string, string>>

/** Open Sessions are requested whole, so that each is on the first page however old it is. */
const openLimit = '100'
const pageLimit = '50'
const longestTimerMs = 2 ** 31 - 1_001

/** Reads a page of the list. */
export const readList = (parameters: Parameters, signal: AbortSignal | undefined) =>
  call<SessionStatePage>('GET', `sessions?${new URLSearchParams(parameters)}`, undefined, signal)

function parametersOf({ q, state, everyone, repository, archived }: SessionListSearch): Parameters {
  return {
    ...(q === undefined ? {} : { q: beginningOf(q, 160) }),
    ...(state === undefined ? {} : { state }),
    ...(everyone === true || state === 'needs_you' ? {} : { mine: '1' }),
    ...(repository === undefined ? {} : { repository }),
    ...(archived === undefined ? {} : { archived: 'only' }),
  }
}

/** A last page has a cursor too, from which nothing follows. */
const cursorOf = (page: SessionStatePage | undefined) => (page?.hasMore === true ? page.nextCursor : null)

const awake = { snoozed: '0' } as const
/** The Sessions that are neither waiting, working, pinned nor snoozed. */
export const rest = { ...awake, state: 'rest', pinned: '0' } as const

/** Reads all waiting, working, pinned and snoozed Sessions, and the first of the rest. Waiting ones are for everybody. */
async function readGroups({ mine, ...filters }: Parameters, signal: AbortSignal): Promise<ListPage> {
  const own: Parameters = mine === undefined ? {} : { mine }
  const parts: readonly (readonly [GroupId, Parameters])[] = [
    ['needs_you', { ...awake, state: 'needs_you' }],
    ['working', { ...own, ...awake, state: 'working' }],
    ['pinned', { ...awake, state: 'rest', pinned: '1' }],
    ['snoozed', { snoozed: '1' }],
    ['rest', { ...own, ...rest, limit: pageLimit }],
  ]
  const pages = await Promise.all(
    parts.map(([, part]) => readList({ ...filters, limit: openLimit, ...part, counted: '1' }, signal)),
  )
  return {
    sessions: pages.flatMap(({ sessions }) => sessions),
    nextCursor: cursorOf(pages.at(-1)),
    beyond: Object.fromEntries(parts.map(([id], at) => [id, pages[at]?.remaining ?? 0])),
  }
}

/** Returns in how many milliseconds the first snooze ends; false if a timer does not last as long. */
function untilDue(listed: readonly ListedSession[]): number | false {
  const until = Math.min(...listed.map(({ state }) => Date.parse(state.snoozed?.until ?? '9999'))) - serverNow()
  return until < longestTimerMs && Math.max(until, 0) + 1_000
}

/** The Sessions that the filters leave. The feed keeps the first page true; more pages hold the rest. */
export const sessionListQuery = (search: SessionListSearch) => {
  const filters = parametersOf(search)
  const split = search.state === undefined && search.archived === undefined
  return infiniteQueryOptions({
    queryKey: ['sessions', filters],
    queryFn: async ({ pageParam, signal }): Promise<ListPage> => {
      if (split && pageParam === '') return readGroups(filters, signal)
      const cursor: Parameters = pageParam === '' ? {} : { cursor: pageParam }
      const limit = pageParam === '' ? pageLimit : openLimit
      const answer = await readList({ ...filters, ...(split ? rest : {}), ...cursor, limit, counted: '1' }, signal)
      const group: GroupId = search.state === 'needs_you' || search.state === 'working' ? search.state : 'rest'
      return { sessions: answer.sessions, nextCursor: cursorOf(answer), beyond: { [group]: answer.remaining ?? 0 } }
    },
    initialPageParam: '',
    getNextPageParam: page => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // A snooze ends also where nobody looks.
    refetchInterval: ({ state }) => untilDue(state.data?.pages[0]?.sessions ?? []),
    refetchIntervalInBackground: true,
  })
}

export type ListKey = ReturnType<typeof sessionListQuery>['queryKey']

/** Returns the part of a list's search that is in its key. */
export function searchOf(key: ListKey): SessionListSearch {
  const { state, archived, mine } = key[1] as Parameters
  return {
    state: state as SessionListSearch['state'],
    archived: archived === undefined ? undefined : true,
    everyone: mine === undefined ? true : undefined,
  }
}
