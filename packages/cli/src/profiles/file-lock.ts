import { closeSync, openSync } from 'node:fs'
import type { Platform } from '@berth/client'

/** Longer than finding the account service and renewing at it take together. */
const WAIT_MS = 60_000
const BUSY = 5

/**
 * Takes a lock that excludes every other process. The kernel holds it, by way of SQLite, and releases it when its holder
 * dies: no lock is ever stale, and none is taken from a holder that is only slow. The file stays; it is empty.
 * @throws Error if another process has held the lock for 30 s, or the file system has no locks
 */
export async function lockFile(
  path: string,
  platform: Pick<Platform, 'now' | 'sleep' | 'random'>,
): Promise<Disposable> {
  const { DatabaseSync } = await import('node:sqlite')
  create(path)
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    for (const untilMs = platform.now() + WAIT_MS; !take(database); ) {
      if (platform.now() >= untilMs) throw new Error(`another berth is using ${path}; end it, or try again later`)
      await platform.sleep(20 + 20 * platform.random())
    }
  } catch (failure) {
    database.close()
    throw failure
  }
  return { [Symbol.dispose]: () => database.close() }
}

/**
 * Creates the file for its owner alone, unless it exists. An existing file must not be opened here: to close any handle
 * of a file drops all locks that this process holds on it.
 */
function create(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
  }
}

function take(database: { exec(sql: string): void }): boolean {
  try {
    database.exec('begin exclusive')
    return true
  } catch (cause) {
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === BUSY) return false
    throw cause
  }
}
