import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { parseTrees } from '../linux/cgroups.ts'
import { instanceOf } from '../linux/instance.ts'
import { isGroupStopped, isStopped } from '../linux/stopped-groups.ts'
import { attachToSupervisor } from './attach.ts'
import { readContainerRecord } from './container-record.ts'
import { hostNames, leaseFiles } from './lease-files.ts'
import { isDead } from './lease-freezer.ts'
import { groupOf } from './lease-group.ts'
import { hasParkedNote } from './parked-note.ts'

/** The way to the supervisors of a host's sandboxes. */
export interface SupervisorDoor {
  /** @throws SandboxGoneError if no supervisor listens */
  attach(leaseId: string, signal: AbortSignal): Promise<Duplex>
  /**
   * Returns whether a sandbox was asked to stand still or is parked, as far as this process can see. Its supervisor may not answer then,
   * and its programs do not.
   */
  isStopped(leaseId: string): boolean | Promise<boolean>
}

/** Opens the way to the sandboxes of a data directory, whichever process of this host made them. */
export async function openSupervisorDoor(dataDir: string): Promise<SupervisorDoor> {
  const instance = instanceOf(await realpath(dataDir))
  const trees = parseTrees(await readFile('/proc/self/mountinfo', 'utf8'))
  return {
    attach: (leaseId, signal) => attachToSupervisor(leaseFiles(instance, leaseId), signal),
    async isStopped(leaseId) {
      const files = leaseFiles(instance, leaseId)
      if (existsSync(join(files.host, hostNames.stopped))) return true
      if (hasParkedNote(files) && (await isDead(files))) return true
      const container = readContainerRecord(files)?.group
      if (container !== undefined) return isStopped(container.version, container.dir)
      const group = groupOf(files)
      return group !== undefined && isGroupStopped(trees, instance.tag, group)
    },
  }
}
