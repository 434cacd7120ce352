import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from './make-directory.ts'
import { StartError, toStartError } from './start-error.ts'

/**
 * Makes the data directory if it is missing, and proves by a file that this process can write there.
 * @throws StartError that names the setting and the cause
 */
export async function openDataDirectory(dataDir: string): Promise<void> {
  try {
    await makeDirectory(dataDir)
    await writeOne(join(dataDir, `.berth-${randomUUID()}`))
  } catch (error) {
    const doing = `the data directory ${dataDir} (BERTH_DATA_DIR) cannot be used`
    const told = toStartError(error, doing)
    if (told instanceof StartError || !(error instanceof Error)) throw told
    throw new StartError(`${doing}: ${error.message}`, { cause: error })
  }
}

async function writeOne(path: string): Promise<void> {
  try {
    // An empty file has room on a full disk.
    await writeFile(path, 'berth', { flag: 'wx', mode: 0o600 })
  } finally {
    await rm(path, { force: true })
  }
}
