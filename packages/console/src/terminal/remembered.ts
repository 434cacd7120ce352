const key = (sessionId: string) => `berth.terminal.${sessionId}`

/** Returns the terminal that this tab had in a Session; null if it had none. */
export function rememberedTerminal(sessionId: string): string | null {
  try {
    return sessionStorage.getItem(key(sessionId))
  } catch {
    return null
  }
}

/** Keeps a Session's terminal for this tab, over reloads. @param terminalId null: it is gone */
export function rememberTerminal(sessionId: string, terminalId: string | null): void {
  try {
    if (terminalId === null) sessionStorage.removeItem(key(sessionId))
    else sessionStorage.setItem(key(sessionId), terminalId)
  } catch {
    // Without storage, a reload opens another terminal.
  }
}
