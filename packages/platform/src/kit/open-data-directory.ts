import { makeDirectory } from './make-directory.ts'
import { proveWritable } from './prove-writable.ts'
import { StartError, toStartError } from './start-error.ts'

/**
 * Makes the data directory if it is missing, and proves by a file that this process can write there.
 * @throws StartError that names the setting and the cause
 */
export async function openDataDirectory(dataDir: string): Promise<void> {
  try {
    await makeDirectory(dataDir)
    await proveWritable(dataDir)
  } catch (error) {
    const doing = `the data directory ${dataDir} (BERTH_DATA_DIR) cannot be used`
    const told = toStartError(error, doing)
    if (told instanceof StartError || !(error instanceof Error)) throw told
    throw new StartError(`${doing}: ${error.message}`, { cause: error })
  }
}
