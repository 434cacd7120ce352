import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Lends a short path to a directory of any length. A unix socket's path holds at most 107 bytes, and
 * `/proc/self/fd/<n>` names the directory while its descriptor is open.
 */
export async function withShortPath<T>(dir: string, use: (short: (name: string) => string) => Promise<T>): Promise<T> {
  const fd = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return await use(name => join('/proc/self/fd', String(fd), name))
  } finally {
    closeSync(fd)
  }
}
