import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClosedNode, openClosedNode } from '../leases/closed-node.ts'
import { writeSharedEtc } from '../leases/inside-files.ts'
import { defaultUidBase, openUids, type Uids, uidsDirectory } from '../leases/uids.ts'
import { type Controller, findCgroups } from '../linux/cgroups.ts'
import { findProgram, MissingProgramError } from '../linux/find-program.ts'
import { type Instance, instanceOf } from '../linux/instance.ts'
import { type ContainerBlanks, openContainerBlanks } from './container-blanks.ts'
import { containersMark } from './container-names.ts'
import { type Engine, openEngine, proveImage } from './engine.ts'
import type { OciOptions } from './options.ts'

const DEFAULT_SPARES = 2

/** Everything that creating and destroying containers needs, found or opened once. */
export interface OciContext {
  readonly options: OciOptions
  readonly instance: Instance
  readonly engine: Engine
  readonly uids: Uids
  readonly blanks: ContainerBlanks
  readonly closedNode: ClosedNode
  readonly etcDir: string
  /** The authorities that the image trusts, in PEM; empty if it has no file of them. */
  readonly authorities: string
  /** Which of a sandbox's bounds the groups of this host enforce. */
  readonly controllers: ReadonlySet<Controller>
}

/**
 * Inspects the host and opens the directories.
 * @throws MissingProgramError
 * @throws ImageError
 */
export async function openOciContext(given: OciOptions): Promise<OciContext> {
  if (process.getuid?.() !== 0) throw new MissingProgramError('the driver `oci` needs a start as root')
  for (const program of ['bwrap', 'mkfs.ext4', 'setpriv', 'prlimit']) {
    // Helper programs run beside the containers, as with the driver `bubblewrap`.
    if ((await findProgram(program)) === undefined)
      throw new MissingProgramError(
        `${program} is not installed on this host: \`apt-get install bubblewrap util-linux e2fsprogs\``,
      )
  }
  const engine = await openEngine(given)
  const [nodePath, bundlesDir] = await Promise.all([realpath(given.nodePath), realpath(given.bundlesDir)])
  const options = { ...given, nodePath, bundlesDir }
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const instance = instanceOf(await realpath(options.dataDir))
  await mkdir(instance.leasesDir, { recursive: true, mode: 0o700 })
  await writeFile(join(instance.dataDir, containersMark), '')
  const opened = {
    authorities: await proveImage(engine, options.image, nodePath),
    options,
    instance,
    engine,
    uids: await openUids(uidsDirectory(instance), options.uidBase ?? defaultUidBase),
    etcDir: await writeSharedEtc(join(instance.dataDir, 'sandbox-etc')),
    closedNode: await openClosedNode(join(instance.dataDir, 'closed-node'), nodePath),
    controllers: (await findCgroups(instance.tag))?.controllers ?? new Set<Controller>(),
  }
  return { ...opened, blanks: await openContainerBlanks(opened, options.spares ?? DEFAULT_SPARES) }
}
