/** A place in a file of the workspace. */
export interface CitedPlace {
  readonly path: string
  readonly line?: number
}

/** Name, folders before it, and a line: `src/login.ts:12`, `login.ts:12:3`, `/workspace/project/a.py`, `Makefile:3`. */
const cited = /^(?<path>(?:\.{0,2}\/)?(?:[\w@.+~()[\]-]+\/)*[\w@.+~()[\]-]+)(?::(?<line>\d{1,7})(?:[:-]\d{1,7})?)?$/u

/**
 * Reads text as a place in a file, if agents write places like that: with a folder or an extension, or with a line.
 * @returns null for any other text
 */
export function citedPlace(text: string): CitedPlace | null {
  const { path, line } = cited.exec(text.trim())?.groups ?? {}
  if (path === undefined || path.length > 1024) return null
  const name = path.slice(path.lastIndexOf('/') + 1)
  const hasExtension = /^[\w@.+~()[\]-]*[A-Za-z_][\w@.+~()[\]-]*\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(name)
  if (!hasExtension && line === undefined) return null
  // `e.g.`, `v1.2` and `example.com` are no files; with a folder or a line they are.
  if (line === undefined && !path.includes('/')) return null
  return { path, ...(line === undefined ? {} : { line: Number(line) }) }
}

/**
 * Returns the path below the workspace that an agent means. Agents work in the repository if there is one, so relative
 * paths begin there.
 */
export function belowWorkspace(path: string, hasRepository: boolean): string {
  if (path.startsWith('/workspace/')) return path.slice('/workspace/'.length)
  if (path.startsWith('/')) return path
  return `${hasRepository ? 'project/' : ''}${path.replace(/^\.\//, '')}`
}
