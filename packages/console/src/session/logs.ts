import { followSession } from '@berth/client'
import { useSyncExternalStore } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { type LogSnapshot, type LogSource, type Schedule, SessionLog } from './session-log.ts'

/** A hidden tab draws no frames, so there a timer does. */
const onFrame: Schedule = work => {
  if (document.visibilityState === 'visible') requestAnimationFrame(work)
  else setTimeout(work, 250)
}

function sourceOf(sessionId: string): LogSource {
  return {
    page: (after, signal) => berth.events.page(sessionId, { after, limit: 100 }, { signal }),
    follow: (after, signal, onState) => {
      onState(true)
      return followSession({
        client: berth,
        sessionId,
        after,
        signal,
        onInterruption: ({ fault }) => onState(fault === null),
      })
    },
  }
}

/** The logs that this tab has read; a few stay, so that going back to a Session shows it at once. */
const logs = new Map<string, SessionLog>()
const kept = 6

/** Returns the log of a Session; the same object each time. */
export function logOf(sessionId: string): SessionLog {
  const known = logs.get(sessionId)
  const log = known ?? new SessionLog(sourceOf(sessionId), onFrame)
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
    if (!ready || before.last === 0) return
    const again = (...key: string[]) =>
      void queryClient.invalidateQueries({ queryKey: ['session', sessionId, ...key], exact: true })
    if (view.changedAt !== before.changedAt) {
      again()
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
    }
    if (view.askedAt !== before.askedAt) again('interactions')
    if (view.deliveredAt !== before.deliveredAt) {
      again('publications')
      again('merges')
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
