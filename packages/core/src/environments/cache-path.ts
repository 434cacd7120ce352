import { environmentLimits } from '@berth/contract'

/** The workspace's own directory, where a launch repository lies. */
export const PROJECT = 'project'

/**
 * Returns why a path cannot be cached; null if it can. A cache must be a directory of its own: one inside another would
 * be stored twice, and one over a conversation would hand the talk of one Session to the next.
 * @param earlier the paths before it in the document
 * @param conversations paths below the home in which runtimes keep their conversations
 * @param clones paths below the workspace at which repositories are cloned; one is not cloned where a cache was restored
 */
export function cachePathFault(
  path: string,
  earlier: readonly string[],
  conversations: readonly string[],
  clones: readonly string[],
): string | null {
  if (Buffer.byteLength(path) > environmentLimits.cachePathBytes)
    return `must not exceed ${environmentLimits.cachePathBytes} bytes`
  const home = path.startsWith('~/')
  const inner = home ? path.slice(2) : path
  const segments = inner.split('/')
  if (path === '~' || path.startsWith('/')) return 'must begin with ~/, or be relative to the workspace'
  if (segments.some(segment => segment === '' || segment === '.' || segment === '..'))
    return 'must be canonical: no empty, `.` or `..` segment, and no slash at the end'
  if (/\p{Cc}/u.test(path)) return 'must hold no control character'
  if (segments.some(segment => segment === '.git' || segment === '.berth')) return 'must not lie in .git or .berth'
  if (/^\.berth-/.test(inner)) return 'must not begin with .berth-, which the platform uses itself'
  if (path === PROJECT) return 'must not be the whole launch repository, with its .git'
  if (!home && clones.some(clone => overlaps(path, clone))) return 'overlaps the directory of one of `repositories`'
  if (home && conversations.some(directory => overlaps(inner, directory)))
    return 'overlaps a directory that holds the conversations of an agent'
  if (earlier.some(other => overlaps(path, other)))
    return 'is listed already, or lies inside another path, or around it'
  return null
}

const overlaps = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
