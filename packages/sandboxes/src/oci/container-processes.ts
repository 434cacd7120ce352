import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ContainerGroup, readContainerRecord } from '../leases/container-record.ts'
import type { LeaseFiles } from '../leases/lease-files.ts'
import type { LeaseGroups, LeaseProcesses } from '../leases/lease-freezer.ts'
import { type CgroupFreezer, cgroupFreezer } from '../linux/cgroup-freezer.ts'
import type { Instance } from '../linux/instance.ts'
import { processStartTime } from '../linux/process-start-time.ts'

/** Finds the processes of containers by their records. */
export function containerProcesses(instance: Instance): LeaseProcesses {
  return { instance, groups, first: files => firstProcess(files) }
}

/** Returns the first process of a lease's container; undefined if it has ended. */
async function firstProcess(files: LeaseFiles): Promise<number | undefined> {
  const record = readContainerRecord(files)
  return record !== undefined && (await processStartTime(record.pid)) === record.startTime ? record.pid : undefined
}

const groups: LeaseGroups = {
  freeze: files => withFreezer(files, undefined, (freezer, dir) => freezer.freeze(dir)),
  thaw: files => withFreezer(files, false, (freezer, dir) => freezer.thaw(dir)),
  state: files => withFreezer(files, 'gone', (freezer, dir) => freezer.state(dir)),
}

function withFreezer<T>(files: LeaseFiles, gone: T, use: (freezer: CgroupFreezer, dir: string) => T): T {
  const group = readContainerRecord(files)?.group
  // The kernel removes a group's files with it, so a group without them has ended.
  const freezer = group && cgroupFreezer(group.version, group.dir)
  return freezer === undefined ? gone : use(freezer, group?.dir ?? '')
}

/** Kills every process of a container at once, also if it is frozen. Podman then has only its traces to remove. */
export function killContainer(files: LeaseFiles): void {
  const group = readContainerRecord(files)?.group
  if (group !== undefined && existsSync(group.dir)) killGroup(group)
}

function killGroup({ dir, version }: ContainerGroup): void {
  try {
    if (existsSync(join(dir, 'cgroup.kill'))) {
      writeFileSync(join(dir, 'cgroup.kill'), '1', { flag: 'r+' })
      return
    }
    for (const pid of readFileSync(join(dir, 'cgroup.procs'), 'utf8').split('\n').map(Number)) {
      if (pid > 1) process.kill(pid, 'SIGKILL')
    }
    // Only now do the killed processes of a frozen group of version 1 end; none of them runs before.
    cgroupFreezer(version, dir)?.thaw(dir)
  } catch {
    // It ended in the meantime, or podman kills the rest.
  }
}
