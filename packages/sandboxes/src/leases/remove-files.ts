import { rm } from 'node:fs/promises'
import { runProgram } from '../linux/run-program.ts'
import { unmountBelow } from '../linux/unmount-below.ts'
import type { LeaseFiles } from './lease-files.ts'
import { isMounted, removeLoopDisk } from './loop-disk.ts'

/** A part of a sandbox could not be destroyed. A further `destroy` continues from there. */
export class DestroyError extends Error {
  override readonly name = 'DestroyError'
}

/** Unmounts and removes the directory of a lease. None of its processes may run any more. */
export async function removeLeaseFiles(files: LeaseFiles): Promise<void> {
  await unmountBelow(files.dir)
  if (await isMounted(files.disk)) await removeLoopDisk(files.disk)
  try {
    await rm(files.dir, { recursive: true, force: true })
  } catch {
    // An agent with the service's own uid may have closed directories, or nested them too deep for one path.
    await runProgram('sh', ['-c', 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"', 'sh', files.dir])
  }
}
