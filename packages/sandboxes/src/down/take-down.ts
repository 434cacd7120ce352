import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { killMarked, markedProcesses } from '../bubblewrap/processes/marked-processes.ts'
import { openUids, uidsDirectory } from '../leases/uids.ts'
import { findProgram } from '../linux/find-program.ts'
import { type Instance, isLeaseId } from '../linux/instance.ts'
import { instanceGroups, removeGroups } from '../linux/instance-groups.ts'
import { runProgram } from '../linux/run-program.ts'
import { mountsBelow, unmountBelow } from '../linux/unmount-below.ts'
import { waitUntil } from '../linux/wait-until.ts'
import { containersMark } from '../oci/container-names.ts'
import { openEngine } from '../oci/engine.ts'

const LETTING_GO_MS = 5_000

/** What sandboxes of a data directory hold on this host. */
export interface Held {
  /** Lease ids and names of blanks that still have a directory. */
  readonly directories: readonly string[]
  readonly processes: readonly number[]
  readonly containers: readonly string[]
  readonly mounts: readonly string[]
  /** Loop devices, with the file behind each. */
  readonly loops: readonly string[]
  readonly groups: readonly string[]
  readonly uids: readonly string[]
}

/** Looks for everything that sandboxes of an instance hold, whichever driver made them. */
export async function heldBy(instance: Instance): Promise<Held> {
  const { blanksDir, dataDir, leasesDir, tag } = instance
  const within = (path: string) => path.startsWith(`${dataDir}/`)
  const [leases, blanks, marked, mounts, groups, uids, loops, containers] = await Promise.all([
    namesIn(leasesDir),
    namesIn(blanksDir),
    markedProcesses(tag),
    mountsBelow(dataDir),
    instanceGroups(tag),
    claims(instance),
    loopFiles(),
    engineOf(instance).then(engine => engine?.names(tag) ?? []),
  ])
  return {
    directories: [...leases, ...blanks],
    processes: marked.map(({ pid }) => pid),
    containers,
    mounts,
    loops: loops.filter(within),
    groups,
    uids: uids.filter(within),
  }
}

/**
 * Ends every sandbox of an instance and gives back all that they hold: processes, containers, mounts, loop devices,
 * cgroups, uids and directories. No process may serve from its data directory. It may be repeated after a failure.
 * @returns what is left; nothing, as a rule
 */
export async function takeDown(instance: Instance): Promise<Held> {
  const { blanksDir, dataDir, leasesDir, tag } = instance
  const leaseIds = new Set((await markedProcesses(tag)).map(({ leaseId }) => leaseId).filter(isLeaseId))
  // The groups first: they end what forks without end, and a frozen sandbox.
  for (const group of await instanceGroups(tag)) await removeGroups(group)
  for (const leaseId of leaseIds) await killMarked(tag, leaseId)
  const engine = await engineOf(instance)
  if (engine !== undefined) await engine.remove(await engine.names(tag))
  await unmountBelow(dataDir)
  for (const directory of [leasesDir, blanksDir]) {
    for (const name of await namesIn(directory)) await removeTree(join(directory, name))
  }
  const uids = await openUids(uidsDirectory(instance), 0)
  for (const owner of await claims(instance)) await uids.release(owner)
  // Podman makes its monitor's group anew while it removes a container.
  for (const group of await instanceGroups(tag)) await removeGroups(group)
  let held: Held = await heldBy(instance)
  // The kernel frees a loop device when its last user closes it, which may be a look from outside.
  await waitUntil(async () => {
    held = await heldBy(instance)
    return isNothing(held)
  }, LETTING_GO_MS)
  return held
}

/** Returns whether an instance holds nothing on this host. */
export const isNothing = (held: Held): boolean => Object.values(held).every(one => one.length === 0)

async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    // An agent with the service's own uid may have closed directories, or nested them too deep for one path.
    await runProgram('sh', ['-c', 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"', 'sh', path])
  }
}

async function claims(instance: Instance): Promise<readonly string[]> {
  const uids = await openUids(uidsDirectory(instance), 0)
  return (await uids.owners()).filter(owner => owner.startsWith(`${instance.dataDir}/`))
}

/** Returns podman if a driver has made containers for the instance, and it is still there. */
async function engineOf({ dataDir }: Instance) {
  if (!existsSync(join(dataDir, containersMark)) || (await findProgram('podman')) === undefined) return undefined
  return openEngine({})
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await ignoring(['ENOENT'], readdir(directory))) ?? []
}

/** Returns the files behind the loop devices of this host. */
async function loopFiles(): Promise<readonly string[]> {
  const devices = (await namesIn('/sys/block')).filter(name => name.startsWith('loop'))
  const files = devices.map(name =>
    ignoring(['ENOENT', 'ENXIO', 'ENODEV'], readFile(`/sys/block/${name}/loop/backing_file`, 'utf8')),
  )
  return (await Promise.all(files)).flatMap(file => (file === undefined ? [] : [file.trim()]))
}
