import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClosedNode, openClosedNode } from '../../leases/closed-node.ts'
import { emptyFileName, replaceFile, writeSharedEtc } from '../../leases/inside-files.ts'
import { defaultUidBase, openUids, UIDS, type Uids, uidsDirectory } from '../../leases/uids.ts'
import { type Cgroups, findCgroups } from '../../linux/cgroups.ts'
import { type Instance, instanceOf } from '../../linux/instance.ts'
import { processMasks, systemMounts } from '../../linux/system-mounts.ts'
import { makeUserNamespace, UserNamespaceError } from '../../linux/user-namespace.ts'
import { systemCallFilter } from '../../seccomp/filter.ts'
import { whyNoLateMounts } from '../files/late-mounts.ts'
import { whyNoLowerTrees } from '../files/lower-trees.ts'
import { type Host, inspectHost } from '../host.ts'
import type { BubblewrapOptions } from '../options.ts'
import { type Blanks, type BlanksOptions, blankDirectory, openBlanks } from './blanks.ts'

const DEFAULT_SPARES = 2
/** Everything that creating and destroying sandboxes needs, found or opened once. */
export interface DriverContext {
  readonly options: BubblewrapOptions
  readonly instance: Instance
  readonly host: Host
  readonly cgroups: Cgroups | undefined
  readonly uids: Uids
  readonly blanks: Blanks
  /** The reason why the poller bounds disks; undefined if each disk is its own file system. */
  readonly noLoopDisks: string | undefined
  /** The reason why root's sandboxes run in the initial user namespace; undefined if each has its own. */
  readonly noUserNamespaces: string | undefined
  /** The reason why sandboxes can have no lower trees; undefined if they can. */
  readonly noLowerTrees: string | undefined
  /** The reason why trees cannot be mounted into sandboxes of the pool; undefined if they can. */
  readonly noLateMounts: string | undefined
  /** The uid that owns lower trees: the one before those of leases. */
  readonly lowerOwner: number
  /** The first uid of layers of system packages: the one behind those of leases. */
  readonly layerOwner: number
  readonly etcDir: string
  /** The file with the system-call filter. */
  readonly filterPath: string
  readonly closedNode: ClosedNode
  readonly systemMounts: readonly string[]
  readonly processMasks: readonly string[]
}

/**
 * Inspects the host and opens the directories.
 * @throws MissingProgramError
 * @throws RangeError on an architecture without a system-call filter
 */
export async function openDriverContext(options: BubblewrapOptions): Promise<DriverContext> {
  const filter = systemCallFilter()
  const host = await inspectHost(options.bwrap ?? 'bwrap')
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const instance = instanceOf(await realpath(options.dataDir))
  await mkdir(instance.leasesDir, { recursive: true, mode: 0o700 })
  const versions = options.cgroups === 'v1' ? [1] : [1, 2]
  const cgroups = options.cgroups === false ? undefined : await findCgroups(instance.tag, versions)
  const uidBase = options.uidBase ?? defaultUidBase
  const uids = await openUids(uidsDirectory(instance), uidBase)
  const etcDir = await writeSharedEtc(join(instance.dataDir, 'sandbox-etc'))
  const filterPath = join(instance.dataDir, 'sandbox-filter')
  await replaceFile(filterPath, filter)
  // Before the blanks: a process started while the copy is written could hold it open for writing, and so keep it from
  // being run.
  const closedNode = await openClosedNode(join(instance.dataDir, 'closed-node'), options.nodePath)
  const noUserNamespaces = host.privileged ? await whyNoUserNamespaces() : undefined
  await mkdir(instance.blanksDir, { recursive: true, mode: 0o700 })
  const lowerOwner = uidBase - 1
  const probe = () => blankDirectory(instance.blanksDir, 'probe')
  const probed = { onDisk: lowerOwner, shown: lowerOwner - 1 }
  const noLowerTrees = host.privileged ? await whyNoLowerTrees(await probe(), probed) : 'only root can mount them'
  const hasPool = options.pool !== undefined && options.pool.most > 0
  const noLateMounts =
    noLowerTrees ?? (hasPool ? await whyNoLateMounts(await probe(), probed, host.bwrapPath) : 'there is no pool')
  const { blanks, noLoopDisks } = await openBestBlanks(options, {
    host,
    instance,
    uids,
    userNamespaces: host.privileged && noUserNamespaces === undefined,
    lateMounts: noLateMounts === undefined,
    cgroups,
    dir: instance.blanksDir,
    bounds: options.bounds,
    wanted: options.spares ?? DEFAULT_SPARES,
    log: options.log,
  })
  return {
    options: { ...options, nodePath: await realpath(options.nodePath), bundlesDir: await realpath(options.bundlesDir) },
    instance,
    host,
    cgroups,
    uids,
    blanks,
    noLoopDisks,
    noUserNamespaces,
    noLowerTrees,
    noLateMounts,
    lowerOwner,
    layerOwner: uidBase + UIDS,
    etcDir,
    filterPath,
    closedNode,
    systemMounts: systemMounts(),
    processMasks: processMasks(join(etcDir, emptyFileName)),
  }
}

/** Opens blanks with loop disks if this host can make them; the first blank is the proof. */
async function openBestBlanks(
  options: BubblewrapOptions,
  resources: Omit<BlanksOptions, 'loopDisks'>,
): Promise<{ readonly blanks: Blanks; readonly noLoopDisks: string | undefined }> {
  let noLoopDisks = 'loop file systems are switched off'
  if (options.disk !== 'poll') {
    try {
      if (!resources.host.privileged) throw new Error('only root can mount a loop file system')
      return { blanks: await openBlanks({ ...resources, loopDisks: true }), noLoopDisks: undefined }
    } catch (error) {
      if (options.disk === 'loop') throw error
      noLoopDisks = error instanceof Error ? error.message : String(error)
    }
  }
  return { blanks: await openBlanks({ ...resources, loopDisks: false }), noLoopDisks }
}

/** Returns the reason why this host cannot make user namespaces, by trying to make one. */
async function whyNoUserNamespaces(): Promise<string | undefined> {
  try {
    const namespace = await makeUserNamespace()
    namespace.release()
    return undefined
  } catch (error) {
    if (error instanceof UserNamespaceError) return error.message
    throw error
  }
}
