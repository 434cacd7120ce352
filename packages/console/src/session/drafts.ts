const keyOf = (sessionId: string) => `berth.draft.${sessionId}`

/** Unsent messages, by Session. They stay in the tab, and reloading it keeps them. */
export const drafts = {
  read(sessionId: string): string {
    return sessionStorage.getItem(keyOf(sessionId)) ?? ''
  },
  write(sessionId: string, text: string): void {
    try {
      if (text === '') sessionStorage.removeItem(keyOf(sessionId))
      else sessionStorage.setItem(keyOf(sessionId), text)
    } catch {
      // Storage is full or blocked; the box itself still has the text.
    }
  },
}
