import type { Session, SessionState } from '@berth/contract'
import { berth, call } from '../api/client.ts'
import { updateLists } from './live-lists.ts'

const put = async (id: string, mark: 'marks' | 'read', body: object) => {
  const { state } = await call<{ state: SessionState }>('PUT', `sessions/${id}/${mark}`, body)
  updateLists(state)
}

/** Pins a Session for the person, or no longer. */
export const pinSession = (id: string, pinned: boolean): Promise<void> => put(id, 'marks', { pinned })

/** Hides a Session until a time, or without one until it needs the person; null shows it again. */
export const snoozeSession = (id: string, snoozed: SessionState['snoozed']): Promise<void> =>
  put(id, 'marks', { snoozed })

/** Records the last Event that the person has read of a Session. */
export const markRead = (id: string, sequence: number): Promise<void> => put(id, 'read', { sequence })

/** Archives a Session for good. */
export async function archiveListed({ session, state }: { session: Session; state: SessionState }): Promise<void> {
  await berth.call('archiveSession', { sessionId: session.id })
  updateLists({ ...state, archived: true })
}
