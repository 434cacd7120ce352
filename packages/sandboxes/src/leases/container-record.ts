import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { parseTrees } from '../linux/cgroups.ts'
import { processStartTime } from '../linux/process-start-time.ts'
import { hostNames, type LeaseFiles } from './lease-files.ts'

/** A group of the container that can freeze it. */
export interface ContainerGroup {
  readonly version: 1 | 2
  readonly dir: string
}

/** What other processes need to know of a lease's container. It lies in the lease's directory. */
export interface ContainerRecord {
  readonly name: string
  /** The container's first process; pid and start time together identify it. */
  readonly pid: number
  readonly startTime: string
  /** Undefined if this host's kernel cannot freeze it. */
  readonly group?: ContainerGroup
}

/** Writes the record of a container that has just been started. */
export async function writeContainerRecord(files: LeaseFiles, name: string, pid: number): Promise<ContainerRecord> {
  const startTime = await processStartTime(pid)
  if (startTime === undefined) throw new Error(`the container ${name} ended at once`)
  const group = await freezingGroup(pid)
  const record: ContainerRecord = { name, pid, startTime, ...(group && { group }) }
  writeFileSync(join(files.host, hostNames.container), JSON.stringify(record), { mode: 0o600 })
  return record
}

/** Reads the record of a lease's container; undefined if there is none. */
export function readContainerRecord(files: LeaseFiles): ContainerRecord | undefined {
  try {
    // Only this module writes it, in a directory that no sandbox sees; a power cut may empty it.
    return JSON.parse(readFileSync(join(files.host, hostNames.container), 'utf8')) as ContainerRecord
  } catch {
    return undefined
  }
}

/** Returns the groups of a process, the ones of version 2 first. */
async function groupsOf(pid: number): Promise<readonly ContainerGroup[]> {
  const own = (await ignoring(['ENOENT', 'ESRCH'], readFile(`/proc/${pid}/cgroup`, 'utf8'))) ?? ''
  const paths = new Set(own.split('\n').map(line => line.split(':').slice(2).join(':')))
  const trees = parseTrees(await readFile('/proc/self/mountinfo', 'utf8'))
  return trees
    .toSorted((one, other) => other.version - one.version)
    .flatMap(({ mountPoint, version }) =>
      // Never the root group: it holds the whole machine.
      [...paths].filter(path => path.length > 1).map(path => ({ version, dir: join(mountPoint, path) })),
    )
    .filter(({ dir }) => existsSync(join(dir, 'cgroup.procs')))
}

async function freezingGroup(pid: number): Promise<ContainerGroup | undefined> {
  const groups = await groupsOf(pid)
  return groups.find(({ dir, version }) => existsSync(join(dir, version === 2 ? 'cgroup.freeze' : 'freezer.state')))
}
