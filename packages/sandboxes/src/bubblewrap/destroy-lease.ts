import { readdir } from 'node:fs/promises'
import { leaseFiles } from '../leases/lease-files.ts'
import { groupOf } from '../leases/lease-group.ts'
import { markOf } from '../leases/mark.ts'
import { DestroyError, removeLeaseFiles } from '../leases/remove-files.ts'
import { isLeaseId } from '../linux/instance.ts'
import type { DriverContext } from './launch/driver-context.ts'
import { killMarked, markedProcesses } from './processes/marked-processes.ts'

/** Ends every process of a lease and keeps its files. */
export async function endProcesses(context: DriverContext, leaseId: string): Promise<void> {
  const { cgroups, instance } = context
  const group = groupOf(leaseFiles(instance, leaseId))
  const ended =
    cgroups && group !== undefined
      ? await cgroups.end(group)
      : await killMarked(instance.tag, markOf(leaseFiles(instance, leaseId)))
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
  await removeLeaseFiles(files)
  await context.uids.release(files.dir)
}

/**
 * Returns the lease ids of every trace of a sandbox of this instance. Processes that were started before their lease are
 * looked for before the directories that tell whose they are: those of sandboxes without a lease first, as a sandbox only
 * moves from there to its lease.
 */
export async function listLeases(context: DriverContext): Promise<string[]> {
  const { instance, uids } = context
  const prefix = `${instance.leasesDir}/`
  const [processes, owners] = await Promise.all([markedProcesses(instance.tag), uids.owners()])
  const blanks = await readdir(instance.blanksDir)
  const directories = (await readdir(instance.leasesDir)).filter(isLeaseId)
  const known = new Set([...blanks, ...directories.map(leaseId => markOf(leaseFiles(instance, leaseId)))])
  const strays = processes.map(one => one.leaseId).filter(mark => !known.has(mark))
  const claimed = owners.filter(owner => owner.startsWith(prefix)).map(owner => owner.slice(prefix.length))
  return [...new Set([...directories, ...strays, ...claimed])].filter(isLeaseId).toSorted()
}
