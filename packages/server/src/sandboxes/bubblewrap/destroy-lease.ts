import { readdir, rm } from 'node:fs/promises'
import { isLeaseId } from '../linux/instance.ts'
import { runProgram } from '../linux/run-program.ts'
import { unmountBelow } from '../linux/unmount-below.ts'
import { type LeaseFiles, leaseFiles } from './files/lease-files.ts'
import { isMounted, removeLoopDisk } from './files/loop-disk.ts'
import { groupOf } from './launch/blank.ts'
import type { DriverContext } from './launch/driver-context.ts'
import { killMarked, markedProcesses } from './processes/marked-processes.ts'

/** A part of a sandbox could not be destroyed. A further `destroy` continues from there. */
export class DestroyError extends Error {
  override readonly name = 'DestroyError'
}

/** Ends every process of a lease and keeps its files. */
export async function endProcesses(context: DriverContext, leaseId: string): Promise<void> {
  const { cgroups, instance } = context
  const group = groupOf(leaseFiles(instance, leaseId))
  const ended = cgroups && group !== undefined ? await cgroups.end(group) : await killMarked(instance.tag, leaseId)
  if (!ended) throw new DestroyError(`processes of sandbox ${leaseId} are still running`)
}

/**
 * Removes a lease, whether complete, incomplete or partly destroyed. No step relies on the record. The directory goes
 * last but one, before the uid: while anything is left, `list` still names the lease, and a uid is free only when no
 * file belongs to it.
 */
export async function destroyLease(context: DriverContext, leaseId: string): Promise<void> {
  const files = leaseFiles(context.instance, leaseId)
  await endProcesses(context, leaseId)
  await removeFiles(files)
  await context.uids.release(files.dir)
}

async function removeFiles(files: LeaseFiles): Promise<void> {
  await unmountBelow(files.dir)
  if (await isMounted(files.disk)) await removeLoopDisk(files.disk)
  try {
    await rm(files.dir, { recursive: true, force: true })
  } catch {
    // An agent with the service's own uid may have closed directories, or nested them too deep for one path.
    await runProgram('sh', ['-c', 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"', 'sh', files.dir])
  }
}

/** Returns the lease ids of every trace of a sandbox of this instance. */
export async function listLeases(context: DriverContext): Promise<string[]> {
  const { instance, uids } = context
  const prefix = `${instance.leasesDir}/`
  const [directories, processes, owners] = await Promise.all([
    readdir(instance.leasesDir),
    markedProcesses(instance.tag),
    uids.owners(),
  ])
  const claimed = owners.filter(owner => owner.startsWith(prefix)).map(owner => owner.slice(prefix.length))
  const all = [...directories, ...processes.map(one => one.leaseId), ...claimed]
  return [...new Set(all)].filter(isLeaseId).toSorted()
}
