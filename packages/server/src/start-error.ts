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
  return remedy === undefined ? error : new StartError(`${doing}: ${remedy}`, { cause: error })
}
