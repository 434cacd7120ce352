import { accessSync, chmodSync, constants, lstatSync, openSync } from 'node:fs'
import { nativePath } from './native-path.ts'

const MODE = 0o7777
const OPEN_FILE = 0o400
const OPEN_DIRECTORY = 0o500

/**
 * Opens a file, also one that its owner has closed to itself. Without the capability for that, as in a pod, this process
 * is the owner: it opens the mode for this moment. The mode is as before when the caller looks at it.
 * @throws the error of the first try, if the mode cannot be changed
 */
export function openClosed(path: string, flags: number): number {
  const native = nativePath(path)
  try {
    return openSync(native, flags)
  } catch (error) {
    if (!isClosed(error)) throw error
    const { mode } = lstatSync(native)
    if (!changes(native, (mode & MODE) | OPEN_FILE)) throw error
    try {
      return openSync(native, flags)
    } finally {
      chmodSync(native, mode & MODE)
    }
  }
}

/**
 * Lets this process list a directory of its own user that is closed to it.
 * @returns closes it again; undefined if it was open
 */
export function openedDirectory(path: string, mode: number): (() => void) | undefined {
  if ((mode & OPEN_DIRECTORY) === OPEN_DIRECTORY) return undefined
  const native = nativePath(path)
  try {
    // With the capability, every directory is open.
    accessSync(native, constants.R_OK | constants.X_OK)
    return undefined
  } catch {
    if (!changes(native, (mode & MODE) | OPEN_DIRECTORY)) return undefined
    return () => void changes(native, mode & MODE)
  }
}

const isClosed = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EACCES'

function changes(path: string | Buffer, mode: number): boolean {
  try {
    chmodSync(path, mode)
    return true
  } catch {
    // It is read-only here, belongs to another user, or has gone.
    return false
  }
}
