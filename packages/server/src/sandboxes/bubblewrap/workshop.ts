import { randomUUID } from 'node:crypto'
import { chmod, mkdir, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sharedEtcFiles } from './arguments.ts'
import { type Cgroups, findCgroups } from './cgroups.ts'
import { type Host, inspectHost } from './host.ts'
import { type Instance, instanceOf } from './instance.ts'
import type { BubblewrapOptions } from './options.ts'
import { openSpareDisks, type SpareDisks } from './spare-disks.ts'
import { systemMounts } from './system-mounts.ts'
import { openUids, type Uids } from './uids.ts'

const DEFAULT_UID_BASE = 200_000
const DEFAULT_SPARE_DISKS = 2
/** Shared by every service of this host that runs as root, and empty after a reboot. */
const HOST_UIDS_DIR = '/run/berth/uids'

/** Everything that making and ending sandboxes needs, found or opened once. */
export interface Workshop {
  readonly options: BubblewrapOptions
  readonly instance: Instance
  readonly host: Host
  readonly cgroups: Cgroups | undefined
  readonly uids: Uids
  /** Absent where disks are bounded by the poller. */
  readonly spares: SpareDisks | undefined
  /** Why there are no loop disks. */
  readonly noLoopDisks: string | undefined
  readonly etcDir: string
  readonly systemMounts: readonly string[]
}

/** Looks at the host and opens the directories. @throws MissingProgramError */
export async function openWorkshop(options: BubblewrapOptions): Promise<Workshop> {
  const host = await inspectHost(options.bwrap ?? 'bwrap')
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const instance = instanceOf(await realpath(options.dataDir))
  await mkdir(instance.leasesDir, { recursive: true, mode: 0o700 })
  const cgroups = options.cgroups === false ? undefined : await findCgroups(instance.tag)
  const uidsDir = host.privileged ? HOST_UIDS_DIR : join(instance.dataDir, 'uids')
  const uids = await openUids(uidsDir, options.uidBase ?? DEFAULT_UID_BASE)
  const etcDir = await writeSharedEtc(join(instance.dataDir, 'sandbox-etc'))
  const { spares, reason } = await openDisks(options, instance, host)
  return {
    options: { ...options, nodePath: await realpath(options.nodePath), bundlesDir: await realpath(options.bundlesDir) },
    instance,
    host,
    cgroups,
    uids,
    spares,
    noLoopDisks: reason,
    etcDir,
    systemMounts: systemMounts(),
  }
}

async function openDisks(
  options: BubblewrapOptions,
  instance: Instance,
  host: Host,
): Promise<{ readonly spares: SpareDisks | undefined; readonly reason: string | undefined }> {
  if (options.disk === 'poll') return { spares: undefined, reason: 'loop file systems are switched off' }
  try {
    if (!host.privileged) throw new Error('only root can mount a loop file system')
    const spares = await openSpareDisks({
      dir: instance.sparesDir,
      sizeBytes: options.bounds.diskBytes,
      wanted: options.spareDisks ?? DEFAULT_SPARE_DISKS,
      log: options.log,
    })
    return { spares, reason: undefined }
  } catch (error) {
    if (options.disk === 'loop') throw error
    return { spares: undefined, reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Replaces each file by a rename: another process of the service may be making a sandbox from it. */
async function writeSharedEtc(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  for (const [name, content] of sharedEtcFiles) {
    const fresh = join(dir, `${name}.${randomUUID()}`)
    await writeFile(fresh, content)
    await chmod(fresh, 0o444)
    await rename(fresh, join(dir, name))
  }
  return dir
}
