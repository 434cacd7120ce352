import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * The service cannot start for a reason that its operator can mend. The message is one line made to be printed alone,
 * without a stack.
 */
export class StartError extends Error {
  override readonly name = 'StartError'

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message.replaceAll(/\s*\n\s*/g, ' '), options)
  }
}

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of the path is not a directory',
}

/** Turns a file system's refusal while `doing` into a StartError; every other error is returned unchanged. */
export function toStartError(error: unknown, doing: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  const remedy = remedies[error.code]
  if (remedy === undefined) return error
  const denied = error.code === 'EACCES' || error.code === 'EPERM'
  const owner = denied && 'path' in error && typeof error.path === 'string' ? foreignOwner(error.path) : undefined
  return new StartError(`${doing}: ${remedy}${owner === undefined ? '' : `; ${owner}`}`, { cause: error })
}

/** Says whose the path is, or the directory that closes it, and what to do; undefined if that is this process. */
function foreignOwner(path: string): string | undefined {
  const own = process.getuid?.()
  const found = nearestVisible(path)
  if (found === undefined || found.uid === own) return undefined
  const name = (uid: number | undefined) => (uid === 0 ? 'root' : `uid ${uid}`)
  const advice = 'start Berth as its owner, or choose another data directory with BERTH_DATA_DIR'
  return `${found.path} belongs to ${name(found.uid)} and this process runs as ${name(own)}: ${advice}`
}

function nearestVisible(path: string): { readonly path: string; readonly uid: number } | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat !== undefined) return { path, uid: stat.uid }
  } catch {
    // A directory above is closed.
  }
  const above = dirname(path)
  return above === path ? undefined : nearestVisible(above)
}
