import type { SessionState, SessionStatePage } from '@berth/contract'
import type { InfiniteData } from '@tanstack/react-query'
import type { SessionListSearch } from '../routing/to.ts'

export type ListedSession = SessionStatePage['sessions'][number]

/** The answer of one read of the list. */
export interface ListPage {
  readonly sessions: readonly ListedSession[]
  readonly nextCursor: string | null
  /** How many Sessions of a group follow this page; `mostCounted` may be more. */
  readonly beyond: Partial<Readonly<Record<GroupId, number>>>
}

/** The service counts no further. */
export const mostCounted = 10_000

/** The list as the query client keeps it. */
export type ListData = InfiniteData<ListPage, unknown>

export type GroupId = 'needs_you' | 'working' | 'pinned' | 'snoozed' | 'rest'

export interface ListedGroup<Id = GroupId> {
  readonly id: Id
  readonly sessions: readonly ListedSession[]
  /** How many more there are than those. */
  readonly beyond: number
}

/** Returns the group of a Session, so that the page moves a row as soon as the feed tells a change. */
const groupOf = ({ status, archived, pinned, snoozed }: SessionState): GroupId =>
  archived
    ? 'rest'
    : snoozed
      ? 'snoozed'
      : status === 'needs_you' || status === 'working'
        ? status
        : pinned
          ? 'pinned'
          : 'rest'

const time = (value: string | undefined) => (value === undefined ? Number.POSITIVE_INFINITY : Date.parse(value))
const newest = (a: ListedSession, b: ListedSession) => time(b.state.updatedAt) - time(a.state.updatedAt)

/**
 * Waiting Sessions are ordered by deadline. Active ones change all the time, so they stand in the order
 * in which they were created: a row must not move while somebody reaches for it.
 */
const orders: Readonly<Record<GroupId, (a: ListedSession, b: ListedSession) => number>> = {
  needs_you: (a, b) => {
    const [first, second] = [time(a.state.attention?.deadline), time(b.state.attention?.deadline)]
    return first === second ? newest(a, b) : first - second
  },
  working: (a, b) => time(b.session.createdAt) - time(a.session.createdAt),
  pinned: newest,
  snoozed: newest,
  rest: newest,
}

/** Returns whether a Session is in a person's list that is not everyone's. */
export const isOwn = ({ startedBy, status, archived, pinned, snoozed }: SessionState, me: string): boolean =>
  startedBy?.id === me || pinned || snoozed !== null || (status === 'needs_you' && !archived)

/** Returns the Sessions in their groups, as a person sees them, without groups that have none. */
export function groupList(data: ListData, search: SessionListSearch, me: string): readonly ListedGroup[] {
  const byId = new Map<string, ListedSession>()
  for (const { sessions } of data.pages) for (const listed of sessions) byId.set(listed.session.id, listed)
  const groups: Record<GroupId, ListedSession[]> = { needs_you: [], working: [], pinned: [], snoozed: [], rest: [] }
  for (const listed of byId.values()) {
    const { state } = listed
    if (state.archived !== (search.archived === true) || !(search.everyone || isOwn(state, me))) continue
    if (search.state === undefined || state.status === search.state) groups[groupOf(state)].push(listed)
  }
  const beyond = { ...data.pages[0]?.beyond, ...data.pages.at(-1)?.beyond }
  return (Object.keys(groups) as GroupId[])
    .map(id => ({ id, sessions: groups[id].sort(orders[id]), beyond: beyond[id] ?? 0 }))
    .filter(({ sessions }) => sessions.length > 0)
}

/** Splits the rest by the days of this browser. How many there are of a day is unknown while the last day goes on. */
export function byDay(rest: ListedGroup, now: number): readonly (ListedGroup<string> & { readonly open: boolean })[] {
  const today = new Date(now).setHours(0, 0, 0, 0)
  const yesterday = new Date(today - 1).setHours(0, 0, 0, 0)
  const dayOf = ({ state }: ListedSession) => {
    const at = Date.parse(state.updatedAt)
    return at >= today ? 'today' : at >= yesterday ? 'yesterday' : 'earlier'
  }
  const days = Object.entries(Object.groupBy(rest.sessions, dayOf))
  return days.map(([id, sessions = []], at) => {
    const goesOn = at === days.length - 1 && rest.beyond > 0
    const isLast = id === 'earlier'
    return { id, sessions, beyond: goesOn && isLast ? rest.beyond : 0, open: goesOn && !isLast }
  })
}

/** Returns the list with a Session's new state, or null if the list does not have the Session. */
export function withState(data: ListData, state: SessionState): ListData | null {
  let found = false
  const pages = data.pages.map(page => {
    if (!page.sessions.some(({ session }) => session.id === state.id)) return page
    found = true
    return { ...page, sessions: page.sessions.map(listed => withNewer(listed, state)) }
  })
  return found ? { ...data, pages } : null
}

function withNewer(listed: ListedSession, state: SessionState): ListedSession {
  // A list that was read after the feed's message may already be newer.
  if (listed.session.id !== state.id || state.lastEventSequence < listed.state.lastEventSequence) return listed
  const { title, phase, status, lastRun, updatedAt, lastEventSequence } = state
  const archivedAt = state.archived ? { archivedAt: listed.session.archivedAt ?? updatedAt } : {}
  const next = { title, phase, status, lastRun, updatedAt, lastEventSequence, ...archivedAt }
  return { session: { ...listed.session, ...next }, state }
}
