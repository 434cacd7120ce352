/** Returns the branch of a Session's pull requests, unless the caller asks for another. */
export const defaultBranch = (sessionId: string): string => `svc/${sessionId}`

/** Returns a name to offer where that branch or another one cannot be made: no directory of branches is in its way. */
export function freeBranch(sessionId: string, taken: string): string {
  const name = `svc-${sessionId}`
  return taken === name ? `${name}-2` : name
}
