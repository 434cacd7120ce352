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
    const failure = toStartError(error, doing)
    if (failure instanceof StartError || !(error instanceof Error)) throw failure
    throw new StartError(`${doing}: ${error.message}`, { cause: error })
  }
}
