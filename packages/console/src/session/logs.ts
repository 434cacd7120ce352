import { type Event, followSession } from '@berth/client'
import { useSyncExternalStore } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { live } from '../live/live.ts'
import { endOf } from './overview.ts'
import { paced } from './paced.ts'
import { noteRead } from './reading.ts'
import { type LogSnapshot, type LogSource, SessionLog } from './session-log.ts'

function sourceOf(sessionId: string): LogSource {
  return {
    end: signal => endOf(sessionId, signal),
    page: async (after, signal) =>
      (await berth.call('listEvents', { sessionId, query: { after, limit: 100 } }, { signal })).events,
    range: async (after, last, signal) => {
      const events = []
      const until = ({ sequence }: Event) => sequence >= last
      for await (const event of followSession({ client: berth, sessionId, after, until, signal })) events.push(event)
      return events
    },
    follow: sink => live.followSession(sessionId, sink),
  }
}

/** The logs that this tab has read; a few stay, so that going back to a Session shows it at once. */
const logs = new Map<string, SessionLog>()
const kept = 6

/** Returns the log of a Session; the same object each time. */
export function logOf(sessionId: string): SessionLog {
  const known = logs.get(sessionId)
  const log = known ?? new SessionLog(sourceOf(sessionId), paced())
  if (known === undefined) keepFresh(sessionId, log)
  logs.delete(sessionId)
  logs.set(sessionId, log)
  for (const [id, old] of logs) if (logs.size > kept && !old.watched) logs.delete(id)
  return log
}

/** Reads the Session, its Interactions and its deliveries again when the log says that they have changed. */
function keepFresh(sessionId: string, log: SessionLog): void {
  let seen = log.read().view
  log.onChange = ({ view, ready }) => {
    const before = seen
    seen = view
    if (ready && log.watched) noteRead(sessionId, view.last)
    if (!ready || before.last === 0) return
    const again = (...key: string[]) =>
      void queryClient.invalidateQueries({ queryKey: ['session', sessionId, ...key], exact: true })
    if (view.changedAt !== before.changedAt) {
      again()
      again('next-turn')
    }
    if (view.interactionAt !== before.interactionAt) {
      again()
      again('interactions')
    }
    if (view.deliveredAt !== before.deliveredAt) {
      again()
      again('publications')
      again('verifications')
      void queryClient.invalidateQueries({ queryKey: ['session', sessionId, 'follow-up'] })
      // Each Publication has its merges, and a pull request that is hosted here has a page of its own.
      void queryClient.invalidateQueries({ queryKey: ['session', sessionId, 'merges'] })
      void queryClient.invalidateQueries({ queryKey: ['local-pull'] })
    }
  }
}

/**
 * Returns a part of a Session's log, and renders again only when that part changes. The selector must return the same
 * value for the same snapshot: a field, or a primitive made of fields.
 */
export function useLog<T>(sessionId: string, select: (snapshot: LogSnapshot) => T): T {
  const log = logOf(sessionId)
  return useSyncExternalStore(log.subscribe, () => select(log.read()))
}
