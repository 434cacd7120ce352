import { statfs } from 'node:fs/promises'
import { StartError } from '../../kit/start-error.ts'

/** One segment of the write-ahead log: with less free space, no server can write. */
const leastFreeBytes = 16 * 1024 * 1024

/**
 * Returns the free bytes of the file system under a directory.
 * @throws StartError if PostgreSQL could not write there
 */
export async function requireFreeSpace(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  const freeBytes = bavail * bsize
  if (freeBytes >= leastFreeBytes) return freeBytes
  const mebibytes = Math.floor(freeBytes / 1024 / 1024)
  throw new StartError(`no space left on the disk: ${mebibytes} MiB free under ${directory}, PostgreSQL needs 16`)
}
