import { markRead } from '../sessions/marks.ts'

/** An active Session changes many times a second; the last read Event is recorded this often. */
const betweenMs = 3_000

const due = new Map<string, number>()
const noted = new Map<string, number>()

/** Notes how far a person has read, as soon as they look at the tab. */
export function noteRead(sessionId: string, sequence: number): void {
  if (sequence <= (noted.get(sessionId) ?? 0)) return
  const waits = due.has(sessionId)
  due.set(sessionId, sequence)
  if (!waits) whenVisible(() => send(sessionId))
}

function send(sessionId: string): void {
  const sequence = due.get(sessionId) ?? 0
  noted.set(sessionId, sequence)
  markRead(sessionId, sequence)
    // The next Event notes it again.
    .catch(() => noted.delete(sessionId))
    .finally(() =>
      setTimeout(() => {
        const later = due.get(sessionId) ?? 0
        due.delete(sessionId)
        if (later > sequence) noteRead(sessionId, later)
      }, betweenMs),
    )
}

function whenVisible(work: () => void): void {
  const check = () => {
    if (document.visibilityState !== 'visible') return
    document.removeEventListener('visibilitychange', check)
    work()
  }
  document.addEventListener('visibilitychange', check)
  check()
}
