const FORBIDDEN = /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^[/.-]|\/\.|[/.]$|\.lock(?:\/|$)|^@$|^HEAD$|^refs\//u

/**
 * Returns true if git and every host take the name for a branch: `git check-ref-format`, and no name with another
 * meaning.
 */
export function isBranchName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= 255 && !FORBIDDEN.test(name)
}

/** Returns the branch of a Session's pull requests, unless the caller asks for another. */
export const defaultBranch = (sessionId: string): string => `svc/${sessionId}`

/** Returns a name to offer where that branch or another one cannot be made: no directory of branches is in its way. */
export function freeBranch(sessionId: string, taken: string): string {
  const name = `svc-${sessionId}`
  return taken === name ? `${name}-2` : name
}
