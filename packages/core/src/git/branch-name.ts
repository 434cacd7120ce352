const FORBIDDEN = /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|^[/.-]|\/\.|[/.]$|\.lock(?:\/|$)|^@$|^HEAD$|^refs\//u

/**
 * Returns true if git and every host take the name for a branch: `git check-ref-format`, and no name with another
 * meaning.
 */
export function isBranchName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= 255 && !FORBIDDEN.test(name)
}
