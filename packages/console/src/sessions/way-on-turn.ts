const ids = new Map<string, string>()

/** Returns the id of the Turn that goes on after a Run. Each button for that has the same one, so two presses send one Turn. */
export function wayOnTurn(runId: string): string {
  const id = ids.get(runId) ?? crypto.randomUUID()
  ids.set(runId, id)
  return id
}
