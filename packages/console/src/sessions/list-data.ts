import type { SessionState, SessionStatePage } from '@berth/contract'
import type { InfiniteData } from '@tanstack/react-query'
import type { SessionListSearch } from '../routing/to.ts'

export type ListedSession = SessionStatePage['sessions'][number]

/** The answer of one read of the list. */
export interface ListPage {
  readonly sessions: readonly ListedSession[]
  readonly nextCursor: string | null
  /** Groups of which the page has only the beginning. */
  readonly cut: readonly GroupId[]
}

/** The list as the query client keeps it. */
export type ListData = InfiniteData<ListPage, unknown>

export type GroupId = 'needs_you' | 'working' | 'pinned' | 'rest'

export interface ListedGroup {
  readonly id: GroupId
  readonly sessions: readonly ListedSession[]
  readonly cut: boolean
}

/** Returns the group of a Session, so that the page moves a row as soon as the feed tells a change. */
const groupOf = ({ status, archived, pinned }: SessionState): GroupId =>
  archived ? 'rest' : status === 'needs_you' || status === 'working' ? status : pinned ? 'pinned' : 'rest'

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
  rest: newest,
}

/** Returns the Sessions in their groups, without groups that have none. */
export function groupList(data: ListData, search: SessionListSearch): readonly ListedGroup[] {
  const byId = new Map<string, ListedSession>()
  for (const { sessions } of data.pages) for (const listed of sessions) byId.set(listed.session.id, listed)
  const groups: Record<GroupId, ListedSession[]> = { needs_you: [], working: [], pinned: [], rest: [] }
  for (const listed of byId.values()) {
    const { state } = listed
    if (state.archived !== (search.archived === true)) continue
    if (search.state === undefined || state.status === search.state) groups[groupOf(state)].push(listed)
  }
  const cut = new Set(data.pages[0]?.cut)
  return (Object.keys(groups) as GroupId[])
    .map(id => ({ id, sessions: groups[id].sort(orders[id]), cut: cut.has(id) }))
    .filter(({ sessions }) => sessions.length > 0)
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
  const told = { title, phase, status, lastRun, updatedAt, lastEventSequence, ...archivedAt }
  return { session: { ...listed.session, ...told }, state }
}

/** Returns the list with Sessions that it did not have, on its first page. */
export function withSessions(data: ListData, added: readonly ListedSession[]): ListData {
  const [first, ...others] = data.pages
  if (first === undefined || added.length === 0) return data
  const ids = new Set(added.map(({ session }) => session.id))
  const pages = [first, ...others].map(page => ({
    ...page,
    sessions: page.sessions.filter(({ session }) => !ids.has(session.id)),
  }))
  return {
    ...data,
    pages: pages.map((page, at) => (at === 0 ? { ...page, sessions: [...added, ...page.sessions] } : page)),
  }
}
