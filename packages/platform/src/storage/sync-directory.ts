import { open } from 'node:fs/promises'

/** Makes the names in a directory outlive a crash of the machine. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
