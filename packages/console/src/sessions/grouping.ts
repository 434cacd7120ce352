import type { Session } from '@berth/client'
import type { SessionListSearch } from '../routing/to.ts'
import { type Attention, type SessionGroup, type SessionState, stateOf } from '../session/session-state.ts'

export interface ListedSession {
  readonly session: Session
  readonly state: SessionState
}

export interface ListedGroup {
  readonly id: SessionGroup
  readonly label: string
  readonly sessions: readonly ListedSession[]
}

const labels: Readonly<Record<SessionGroup, string>> = {
  'needs-you': 'Needs you',
  working: 'Working',
  done: 'Done',
}

/**
 * Returns the Sessions that the filters leave, in their groups, each in the order of the list. A word of the search has
 * to be in the title, the repository or the branch. Groups without Sessions are left out.
 */
export function groupSessions(
  sessions: readonly Session[],
  search: SessionListSearch,
  attention: ReadonlyMap<string, Attention>,
): readonly ListedGroup[] {
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const listed = sessions
    .filter(session => words.every(word => haystack(session).includes(word)))
    .map(session => ({ session, state: stateOf(session, attention.get(session.id)) }))
    .filter(({ state }) => search.state === undefined || state.group === search.state)
  return (Object.keys(labels) as SessionGroup[])
    .map(id => ({ id, label: labels[id], sessions: listed.filter(({ state }) => state.group === id) }))
    .filter(group => group.sessions.length > 0)
}

function haystack({ title, source, origin, id }: Session): string {
  return [title, source?.label, source?.baseBranch, origin?.label, id].join(' ').toLowerCase()
}
