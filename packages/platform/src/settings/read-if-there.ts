import { readFileSync, statSync } from 'node:fs'
import { StartError, toStartError } from '../kit/start-error.ts'
import { errorCode } from '../kit/system-errors.ts'

/**
 * Reads the text of the configuration file; returns undefined if there is none.
 * @throws StartError if it cannot be read
 */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // A file in place of the data directory is told where that is opened, with the setting's name.
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined
    const failure = toStartError(error, `${path} cannot be read`)
    throw failure instanceof StartError ? failure : new StartError(`${path} cannot be read`, { cause: error })
  }
}

/** Returns true if others than its owner may read or change a file. */
export function isOpenToOthers(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.mode & 0o077) !== 0
}
