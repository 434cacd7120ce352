import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LowerTrees } from '../../driver.ts'
import { baselinesOf, diskNames, hostNames, type LeaseFiles, leaseFilesAt } from '../../leases/lease-files.ts'
import { agentDirectories, makeAgentDirectories } from '../../leases/loop-disk.ts'
import { boundLower, mountOverlays, type OwnerMap } from '../../linux/overlay.ts'
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
  return `lowerdir=${boundLower},upperdir=${below(upper)},workdir=${below(work)},redirect_dir=on,metacopy=on,xino=off,index=off`
}

/**
 * Mounts overlays in place of a lease's workspace and home: the lower trees show below, owned by the lease's user, and
 * every change goes to the lease's disk. Content of a lower tree never changes.
 * @throws OverlayError
 */
export async function mountLowerTrees(files: LeaseFiles, lower: LowerTrees, owners: OwnerMap): Promise<void> {
  mkdirSync(join(files.host, hostNames.lower), { mode: 0o700 })
  const trees = agentDirectories.flatMap(([name, mode]) => (name === 'tmp' ? [] : [{ name, mode }]))
  for (const kind of [diskNames.upper, diskNames.work]) mkdirSync(join(files.files, kind), { mode: 0o700 })
  for (const { name, mode } of trees) {
    mkdirSync(join(files.files, diskNames.work, name), { mode: 0o700 })
    const upper = join(files.files, diskNames.upper, name)
    mkdirSync(upper)
    chownSync(upper, owners.shown, owners.shown)
    chmodSync(upper, mode)
  }
  const mounts = trees.map(({ name }) => {
    return { lower: lower[name], target: join('disk', diskNames.files, name), options: optionsOf(name) }
  })
  await mountOverlays(files.dir, owners, mounts)
}

/** Lets the first seal of a lease with lower trees find all unchanged files. Without it the seal reads everything. */
export async function shareBaselines(files: LeaseFiles, { baselines }: LowerTrees): Promise<void> {
  for (const [tree, directory] of Object.entries(baselines)) {
    const own = join(baselinesOf(files), tree)
    await mkdir(own, { recursive: true, mode: 0o700 })
    for (const name of await readdir(directory)) await link(join(directory, name), join(own, name))
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
    const both = { workspace: join(dir, 'lower'), home: join(dir, 'lower') }
    const lower = { ...both, baselines: both }
    await mkdir(join(lower.workspace, 'directory', 'inner'), { recursive: true })
    for (const path of [lower.workspace, join(lower.workspace, 'directory')])
      chownSync(path, owners.onDisk, owners.onDisk)
    await mountLowerTrees(files, lower, owners)
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
