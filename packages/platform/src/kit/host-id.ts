import { randomUUID } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Returns the name of this machine. It is created once and kept in the data directory beside the sandboxes that it
 * stands for. A container's host name may change with a restart that its sandboxes survive.
 */
export async function hostName(dataDir: string): Promise<string> {
  const path = join(dataDir, 'host-id')
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(randomUUID())
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return (await readFile(path, 'utf8')).trim()
}
