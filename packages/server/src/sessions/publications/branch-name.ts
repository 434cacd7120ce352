const FORBIDDEN = /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^[/.-]|\/\.|[/.]$|\.lock(?:\/|$)|^@$|^HEAD$|^refs\//u

/** Whether git takes the name for a branch, and every host does: `git check-ref-format`, and no name that means another. */
export function isBranchName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= 255 && !FORBIDDEN.test(name)
}

/** The branch of a Session's pull requests where it asks for no other. */
export const defaultBranch = (sessionId: string): string => `svc/${sessionId}`
