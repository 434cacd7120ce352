import { createBubblewrapDriver } from '../../../src/sandboxes/bubblewrap/create-driver.ts'
import { defaultBounds } from '../../../src/sandboxes/bubblewrap/options.ts'
import { silentLog } from '../services/log.ts'

/** Destroys the sandboxes of a test: by design they outlive the service, but they must not outlive the test. */
export async function destroySandboxes(dataDir: string): Promise<void> {
  await using driver = await createBubblewrapDriver({
    dataDir,
    nodePath: process.execPath,
    bundlesDir: dataDir,
    bounds: defaultBounds,
    spares: 0,
    log: silentLog,
  })
  for (const leaseId of await driver.list()) await driver.destroy(leaseId)
}
