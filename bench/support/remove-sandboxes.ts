import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createBubblewrapDriver } from '../../packages/sandboxes/src/bubblewrap/create-driver.ts'
import { defaultBounds } from '../../packages/sandboxes/src/bubblewrap/options.ts'
import { quiet } from './bench-database.ts'

/** The programs that sandboxes see. */
export const bundlesDir = resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')

/** Destroys the sandboxes that a stopped service left in its data directory, which cannot be deleted before. */
export async function removeSandboxes(dataDir: string): Promise<void> {
  const common = { dataDir, bundlesDir, nodePath: process.execPath, bounds: defaultBounds, log: quiet }
  await using driver = await createBubblewrapDriver({ ...common, spares: 0 })
  for (const leaseId of await driver.list()) await driver.destroy(leaseId)
}
