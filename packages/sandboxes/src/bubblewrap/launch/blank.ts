import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import type { SandboxBounds } from '../../driver.ts'
import { hostNames, type LeaseFiles, leaseFilesAt } from '../../leases/lease-files.ts'
import { groupOf } from '../../leases/lease-group.ts'
import { makeAgentDirectories, makeLoopDisk, removeLoopDisk } from '../../leases/loop-disk.ts'
import type { Uids } from '../../leases/uids.ts'
import { makeVisibleDirectory } from '../../leases/visible-files.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import type { Instance } from '../../linux/instance.ts'
import { unmountBelow } from '../../linux/unmount-below.ts'
import { makeUserNamespace, type UnmappedNamespace } from '../../linux/user-namespace.ts'
import { shareFiles } from '../files/late-mounts.ts'
import type { Host } from '../host.ts'
import { killMarked } from '../processes/marked-processes.ts'
import { startWaitingShell } from './waiting-shell.ts'

/**
 * A sandbox without a lease: its directory, its disk, its cgroups, its listening socket, and a shell that waits inside
 * the cgroups to become bubblewrap.
 *
 * It holds everything that takes long and depends on no lease. That includes joining a cgroup: the first move of a
 * process after a while waits for an RCU grace period (5 to 20 ms measured, as long as all of bubblewrap's work). Only
 * children of a member join for free, at birth.
 *
 * It becomes a lease when its directory is renamed, which carries mounts and open files along. If this process dies
 * before that, the shell reads the end of its socket and exits.
 */
export interface Blank {
  readonly files: LeaseFiles
  /** Name of its cgroups, also kept in its directory. */
  readonly group: string
  readonly bounds: SandboxBounds
  readonly shell: ChildProcess
  /** The shell's socket, later bubblewrap's. */
  readonly socket: Socket
  /** The sandbox's user namespace. Undefined if bubblewrap makes one, or if this host supports none. */
  readonly userNamespace: UnmappedNamespace | undefined
}

/** Host capabilities for making blanks. */
export interface BlankResources {
  readonly host: Host
  readonly instance: Instance
  readonly uids: Uids
  readonly cgroups: Cgroups | undefined
  readonly loopDisks: boolean
  /** Whether root makes a user namespace for each sandbox. */
  readonly userNamespaces: boolean
  /** Whether trees may be mounted into sandboxes that run. */
  readonly lateMounts: boolean
}

/** Makes a blank at `dir`, which must not exist. A failure leaves nothing behind. */
export async function makeBlank(
  resources: BlankResources,
  dir: string,
  name: string,
  bounds: SandboxBounds,
): Promise<Blank> {
  const files = leaseFilesAt(dir, name)
  const group = `blank.${name}`
  let userNamespace: UnmappedNamespace | undefined
  try {
    mkdirSync(dir, { mode: 0o700 })
    mkdirSync(files.host, { mode: 0o700 })
    writeFileSync(join(files.host, hostNames.group), group, { mode: 0o600 })
    for (const visible of [files.run, files.platform, files.inputs]) makeVisibleDirectory(visible)
    mkdirSync(files.disk, { mode: 0o700 })
    if (resources.loopDisks) await makeLoopDisk(files.disk, bounds.diskBytes)
    else makeAgentDirectories(files.files)
    if (resources.lateMounts) await shareFiles(files, resources.loopDisks)
    const joinFiles = (await resources.cgroups?.make(group, bounds)) ?? []
    if (resources.userNamespaces) userNamespace = await makeUserNamespace()
    const waiting = await startWaitingShell(files.host, resources.host.shell, joinFiles)
    return { files, group, bounds, ...waiting, userNamespace }
  } catch (error) {
    userNamespace?.release()
    await removeBlank(resources, dir)
    throw error
  }
}

/**
 * Removes a blank, complete or left over from a dead process. Its shell, or what the shell became, has exited, or the kill
 * ends it.
 */
export async function removeBlank(
  resources: Pick<BlankResources, 'cgroups' | 'instance' | 'uids'>,
  dir: string,
): Promise<void> {
  const files = leaseFilesAt(dir, 'blank')
  const group = groupOf(files)
  if (resources.cgroups === undefined) await killMarked(resources.instance.tag, basename(dir))
  else if (group !== undefined) await resources.cgroups.end(group)
  await unmountBelow(dir)
  await removeLoopDisk(files.disk)
  await rm(dir, { recursive: true, force: true })
  await resources.uids.release(dir)
}
