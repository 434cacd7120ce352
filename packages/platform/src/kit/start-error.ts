import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * The service cannot start for a reason that its operator can fix. The message is one line, printed alone without a
 * stack.
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
/** Refusals of mkdir(2) alone, whose caller has made the directories above. */
const directoryRemedies: Readonly<Record<string, string>> = {
  EEXIST: 'something other than a directory is in its place',
  ENOENT: 'its file system takes no new directories',
}

/** Turns a file system's refusal while `doing` into a StartError. Returns every other error unchanged. */
export function toStartError(error: unknown, doing: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error
  const ofDirectory = 'syscall' in error && error.syscall === 'mkdir' ? directoryRemedies[error.code] : undefined
  const remedy = remedies[error.code] ?? ofDirectory
  if (remedy === undefined) return error
  const denied = error.code === 'EACCES' || error.code === 'EPERM'
  const owner = denied && 'path' in error && typeof error.path === 'string' ? foreignOwner(error.path) : undefined
  return new StartError(`${doing}: ${remedy}${owner === undefined ? '' : `; ${owner}`}`, { cause: error })
}

/**
 * Names the owner of the path, or of the directory that hides it, with advice; undefined if that is this process's
 * user.
 */
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
    // A parent directory is not accessible.
  }
  const above = dirname(path)
  return above === path ? undefined : nearestVisible(above)
}
