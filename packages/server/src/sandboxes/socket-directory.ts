import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Lends a short path to a directory of any length: a unix socket's path holds at most 107 bytes, and
 * `/proc/self/fd/<n>` stands for the directory as long as its descriptor is open.
 */
export async function withShortPath<T>(dir: string, use: (short: (name: string) => string) => Promise<T>): Promise<T> {
  const handle: FileHandle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return await use(name => join('/proc/self/fd', String(handle.fd), name))
  } finally {
    await handle.close()
  }
}
