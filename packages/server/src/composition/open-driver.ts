import type { Context } from '@berth/core/context.ts'
import type { Mirrors } from '@berth/core/repositories/mirrors.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { createBubblewrapDriver } from '@berth/sandboxes/bubblewrap/create-driver.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { createOciDriver } from '@berth/sandboxes/oci/create-driver.ts'
import { createPodDriver } from '@berth/sandboxes/pod/create-driver.ts'
import { bundlesDirectory } from './bundles-directory.ts'
import { readiness } from './readiness.ts'

/**
 * Opens the driver of this machine's sandboxes that the settings name.
 * @throws StartError if they name none
 */
export async function openDriver(
  { log, runtimes }: Pick<Context, 'log' | 'runtimes'>,
  { compute, dataDir, sandboxes }: Settings,
  mirrors: Pick<Mirrors, 'directoryOf'>,
): Promise<SandboxDriver> {
  const common = {
    dataDir,
    nodePath: process.execPath,
    bundlesDir: bundlesDirectory(),
    bounds: sandboxes.bounds,
    log,
    objects: (id: string) => mirrors.directoryOf(id),
  }
  if (compute.kind === 'bubblewrap') {
    return createBubblewrapDriver({ ...common, pool: { ...sandboxes.pool, ...readiness(runtimes) } })
  }
  if (compute.kind === 'pod') {
    const { fileSizeBytes } = sandboxes.bounds
    return createPodDriver({ dataDir, log, ready: { fileSizeBytes, ...readiness(runtimes) } })
  }
  if (compute.kind === 'remote') throw new StartError('BERTH_COMPUTE is remote: this process makes no sandboxes')
  const { image, runtime } = compute
  return createOciDriver({ ...common, image, ...(runtime !== undefined && { runtime }) })
}
