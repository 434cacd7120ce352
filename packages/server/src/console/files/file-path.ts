const ROOT = '/workspace'

/**
 * Returns the path below the workspace that a person means, as agents name files: below it or absolute, with `.`, `..`
 * and doubled slashes. Empty for the workspace itself; null if it lies elsewhere.
 */
export function workspacePath(path: string): string | null {
  if (path.includes('\0')) return null
  const isAbsolute = path.startsWith('/')
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return null
  }
  if (isAbsolute && `/${names.shift() ?? ''}` !== ROOT) return null
  return names.join('/')
}
