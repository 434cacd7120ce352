import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Proves that this process can keep files in a directory, by a file that it writes and removes. @throws the system's error */
export async function proveWritable(directory: string): Promise<void> {
  const path = join(directory, `.berth-${randomUUID()}`)
  try {
    await using file = await open(path, 'wx', 0o600)
    // An empty file has room on a full disk.
    await file.writeFile('berth')
    await file.sync()
  } finally {
    await rm(path, { force: true })
  }
}
