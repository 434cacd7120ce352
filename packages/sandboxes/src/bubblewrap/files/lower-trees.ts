import { chmodSync, chownSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import type { LowerPlace, LowerTrees } from '../../driver.ts'
import { insidePaths } from '../../inside-paths.ts'
import { baselinesOf, diskNames, hostNames, type LeaseFiles, leaseFilesAt } from '../../leases/lease-files.ts'
import { makeAgentDirectories } from '../../leases/loop-disk.ts'
import { mountOverlays, type OverlayMount, type OwnerMap, type ReadOnlyBind } from '../../linux/overlay.ts'
import { unmountBelow } from '../../linux/unmount-below.ts'

/**
 * Options of an overlay whose changes lie on the lease's disk, relative to the lease's directory.
 *
 * - `redirect_dir`: without it a directory of the lower tree cannot be renamed, and npm renames directories.
 * - `metacopy`: a change of mode or owner does not copy the content.
 * - `xino=off`: a file keeps its number of the lower tree, so a baseline made there holds here.
 * - `index=off`: many sandboxes share a lower tree.
 */
function optionsOf(name: string): string {
  const below = (kind: string) => join('disk', diskNames.files, kind, name)
  const { upper, work } = diskNames
  return `upperdir=${below(upper)},workdir=${below(work)},redirect_dir=on,metacopy=on,xino=off,index=off`
}

/** Where each place lies below the agent's directories, and its mode. */
const places = {
  workspace: [diskNames.workspace, 0o755],
  home: [diskNames.home, 0o700],
  project: [join(diskNames.workspace, basename(insidePaths.project)), 0o755],
} as const satisfies Record<LowerPlace, readonly [string, number]>

/**
 * Mounts overlays at places of a lease: the lower trees show below, owned by the lease's user, and every change goes to
 * the lease's disk. Content of a lower tree never changes.
 * @param late mounted too
 * @throws OverlayError
 */
export async function mountLowerTrees(
  files: LeaseFiles,
  lower: LowerTrees | undefined,
  owners: OwnerMap,
  late: readonly ReadOnlyBind[] = [],
): Promise<void> {
  mkdirSync(join(files.host, hostNames.lower), { mode: 0o700 })
  for (const kind of [diskNames.upper, diskNames.work]) mkdirSync(join(files.files, kind), { mode: 0o700 })
  if (lower?.commit !== undefined) writeFileSync(join(files.host, hostNames.commit), lower.commit, { mode: 0o600 })
  const mounts: (OverlayMount | ReadOnlyBind)[] = [...late]
  for (const name of ['workspace', 'home', 'project'] as const) {
    const layers = lower?.places[name]
    if (layers === undefined) continue
    const [path, mode] = places[name]
    mkdirSync(join(files.files, diskNames.work, name), { mode: 0o700 })
    const upper = join(files.files, diskNames.upper, name)
    mkdirSync(upper)
    // No process that could put a link there has read a byte of anybody's.
    if (name === 'project') mkdirSync(join(files.files, path))
    chownSync(upper, owners.shown, owners.shown)
    chmodSync(upper, mode)
    // The mount tells if it is missing.
    const top = name === 'project' ? statSync(layers[0], { throwIfNoEntry: false }) : undefined
    if (top !== undefined) {
      // It is an entry of the workspace, and a seal keeps its mode and time.
      chmodSync(upper, top.mode & 0o777)
      utimesSync(upper, top.atime, top.mtime)
    }
    mounts.push({ layers, target: join('disk', diskNames.files, path), options: optionsOf(name) })
  }
  await mountOverlays(files.dir, owners, mounts)
}

/** Lets the first seal of a lease with lower trees find all unchanged files. Without it the seal reads everything. */
export async function shareBaselines(files: LeaseFiles, baselines: LowerTrees['baselines'] = {}): Promise<void> {
  for (const [tree, directory] of Object.entries(baselines)) {
    const own = join(baselinesOf(files), tree)
    await mkdir(own, { recursive: true, mode: 0o700 })
    for (const name of await readdir(directory))
      await ignoring(['EEXIST'], link(join(directory, name), join(own, name)))
  }
}

/**
 * Returns the reason why this host cannot show lower trees, by trying it.
 * @param dir made and removed; on the file system of leases and lower trees
 * @param owners whose uids no sandbox uses
 */
export async function whyNoLowerTrees(dir: string, owners: OwnerMap): Promise<string | undefined> {
  const files = leaseFilesAt(dir, 'probe')
  try {
    for (const path of [files.host, files.disk]) await mkdir(path, { recursive: true, mode: 0o700 })
    makeAgentDirectories(files.files)
    const layers = [join(dir, 'lower'), join(dir, 'lowest')] as const
    await mkdir(join(layers[1], 'directory', 'inner'), { recursive: true })
    await mkdir(layers[0])
    for (const path of [...layers, join(layers[1], 'directory')]) chownSync(path, owners.onDisk, owners.onDisk)
    await mountLowerTrees(files, { places: { workspace: layers }, baselines: {} }, owners)
    if ((await stat(join(files.workspace, 'directory'))).uid !== owners.shown)
      return 'an overlay does not show the mapped owner'
    await rename(join(files.workspace, 'directory'), join(files.workspace, 'renamed'))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await unmountBelow(dir)
    await rm(dir, { recursive: true, force: true })
  }
}
