import { chownSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import type { SandboxBounds } from '../driver.ts'
import { readContainerRecord } from '../leases/container-record.ts'
import { passwdFiles } from '../leases/inside-files.ts'
import { hostNames, type LeaseFiles, leaseFilesAt } from '../leases/lease-files.ts'
import { makeLoopDisk } from '../leases/loop-disk.ts'
import { removeLeaseFiles } from '../leases/remove-files.ts'
import { makeVisibleDirectory, writeVisibleFile } from '../leases/visible-files.ts'
import { containerName } from './container-names.ts'
import type { OciContext } from './oci-context.ts'
import { prepareShown } from './shown-files.ts'
import { startWaitingContainer } from './waiting-container.ts'

/**
 * A container without a lease: its directory, its disk, its listening socket, and a shell inside that waits for the
 * command. It holds everything that takes long and depends on no lease. It becomes a lease when its directory is renamed,
 * which carries mounts and open files along.
 */
export interface ContainerBlank {
  readonly files: LeaseFiles
  readonly uid: number
  readonly bounds: SandboxBounds
  /** Takes the command. Closed if the container has ended. */
  readonly socket: Socket
}

/** Makes a blank at `dir`, which must not exist. A failure leaves nothing behind. */
export async function makeContainerBlank(
  context: Omit<OciContext, 'blanks'>,
  dir: string,
  bounds: SandboxBounds,
  mounts: readonly string[],
): Promise<ContainerBlank> {
  const { authorities, closedNode, engine, etcDir, instance, options, uids } = context
  const name = basename(dir)
  const files = leaseFilesAt(dir, name)
  try {
    mkdirSync(dir, { mode: 0o700 })
    mkdirSync(files.host, { mode: 0o700 })
    const uid = uids.claim(dir)
    for (const visible of [files.run, files.platform, files.inputs]) makeVisibleDirectory(visible)
    mkdirSync(files.disk, { mode: 0o700 })
    await makeLoopDisk(files.disk, bounds.diskBytes)
    for (const own of [files.workspace, files.home, files.tmp]) chownSync(own, uid, uid)
    for (const [file, content] of passwdFiles(uid)) writeVisibleFile(join(files.host, file), content)
    if (authorities !== '') writeVisibleFile(join(files.host, hostNames.authorities), authorities)
    await prepareShown(files, options.bundlesDir)
    const socket = await startWaitingContainer(engine, {
      ...{
        files,
        uid,
        bounds,
        mounts,
        etcDir,
        hasAuthorities: authorities !== '',
        image: options.image,
        nodePath: options.nodePath,
        tag: instance.tag,
      },
      name: containerName(instance, name),
      closedNodePath: await closedNode.path(),
      pidFile: join(files.host, 'pid'),
    })
    return { files, uid, bounds, socket }
  } catch (error) {
    await removeContainerBlank(context, dir)
    throw error
  }
}

/** Removes a blank, complete or left over from a dead process. */
export async function removeContainerBlank(
  { engine, instance, uids }: Pick<OciContext, 'engine' | 'instance' | 'uids'>,
  dir: string,
): Promise<void> {
  const files = leaseFilesAt(dir, basename(dir))
  await engine.remove([readContainerRecord(files)?.name ?? containerName(instance, basename(dir))])
  await removeLeaseFiles(files)
  await rm(dir, { recursive: true, force: true })
  await uids.release(dir)
}
