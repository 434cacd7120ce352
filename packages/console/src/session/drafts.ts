const idsOf = (sessionId: string) => `berth.draft-ids.${sessionId}`
const keyOf = (sessionId: string) => `berth.draft.${sessionId}`

/** Unsent messages, by Session. They stay in the tab, and reloading it keeps them. */
export const drafts = {
  /** Returns the ids under which the message goes out; null if nobody has sent it yet. */
  readIds(sessionId: string): readonly string[] | null {
    return sessionStorage.getItem(idsOf(sessionId))?.split(' ') ?? null
  },
  /** Keeps the ids of a message that is sent: to send it again after coming back must not admit it twice. */
  keepIds(sessionId: string, ids: readonly string[]): void {
    try {
      sessionStorage.setItem(idsOf(sessionId), ids.join(' '))
    } catch {
      // As below.
    }
  },
  read(sessionId: string): string {
    return sessionStorage.getItem(keyOf(sessionId)) ?? ''
  },
  /** Replaces the message. Another message goes out under ids of its own. */
  write(sessionId: string, text: string): void {
    try {
      sessionStorage.removeItem(idsOf(sessionId))
      if (text === '') sessionStorage.removeItem(keyOf(sessionId))
      else sessionStorage.setItem(keyOf(sessionId), text)
    } catch {
      // Storage is full or blocked; the box itself still has the text.
    }
  },
}
