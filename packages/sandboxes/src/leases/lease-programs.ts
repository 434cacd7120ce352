import { existsSync, statSync } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'
import { directoryTree, type TreeTools } from '../confined/directory-tree.ts'
import { startLeaseScript } from '../confined/lease-script.ts'
import type { ObjectsOf } from '../confined/objects-directory.ts'
import { assertPathBelow } from '../confined/path-below.ts'
import { type SandboxDriver, SandboxGoneError } from '../driver.ts'
import type { TreeName } from '../lease-program.ts'
import type { Instance } from '../linux/instance.ts'
import type { UpperLayer } from '../linux/upper-layer.ts'
import type { Tree } from '../tree.ts'
import { baselinesOf, diskNames, hostNames, type LeaseFiles, leaseFiles } from './lease-files.ts'
import { readRecord } from './record.ts'
import { isSeries } from './series.ts'

/** Where the overlays of each tree show, by the names of their upper directories. */
const overlays = {
  workspace: { workspace: '', project: 'project' },
  home: { home: '' },
} as const satisfies Record<TreeName, Readonly<Record<string, string>>>

/**
 * Returns the overlay in a tree of a lease. It is there from before the first program on, or never.
 * @throws SandboxGoneError if it is not mounted any more, as after a restart of the host or in another mount namespace. What
 *   shows in its place is no work of the agent's, and a seal of that would replace the work.
 */
async function overlayIn(files: LeaseFiles, tree: TreeName): Promise<UpperLayer | undefined> {
  for (const [name, at] of Object.entries(overlays[tree])) {
    const directory = join(files.files, diskNames.upper, name)
    if (!existsSync(directory)) continue
    const [disk, shown] = [files.files, join(files[tree], at)].map(
      path => statSync(path, { throwIfNoEntry: false })?.dev,
    )
    if (shown === undefined || shown === disk)
      throw new SandboxGoneError(`the ${name} of sandbox ${files.leaseId} is not mounted any more`)
    const commit = await ignoring(['ENOENT'], readFile(join(files.host, hostNames.commit), 'utf8'))
    return { directory, at, scratch: files.host, ...(commit !== undefined && { commit }) }
  }
  return undefined
}

/** Runs programs at the files of this host's leases. */
export function leasePrograms(
  instance: Instance,
  tools: TreeTools,
  objects: ObjectsOf | undefined,
): Pick<SandboxDriver, 'run' | 'settleBaseline' | 'hasDirectory'> {
  const owned = async (leaseId: string): Promise<{ files: LeaseFiles; owner: { uid?: number } }> => {
    const files = leaseFiles(instance, leaseId)
    const record = await readRecord(files)
    if (record === undefined) throw new SandboxGoneError(`sandbox ${leaseId} does not exist`)
    return { files, owner: process.getuid?.() === 0 ? { uid: record.uid } : {} }
  }
  const treeAt = async (files: LeaseFiles, owner: { uid?: number }, tree: TreeName, series: string): Promise<Tree> => {
    if (tree !== 'workspace' && tree !== 'home') throw new TypeError(`not a tree: ${JSON.stringify(tree)}`)
    if (!isSeries(series)) throw new TypeError(`not a series of baselines: ${JSON.stringify(series)}`)
    const overlay = await overlayIn(files, tree)
    const place = { path: files[tree], ...owner, ...(overlay !== undefined && { overlay }) }
    return directoryTree(tools, place, join(baselinesOf(files), series))
  }
  return {
    async run(leaseId, program) {
      const { files, owner } = await owned(leaseId)
      if (program.kind === 'tree') {
        const { access, baseline, tree } = program
        return (await treeAt(files, owner, tree, baseline?.series ?? tree)).run(access, baseline)
      }
      const { workspace, home, host: scratchDir } = files
      const { bwrap } = tools
      const [inWorkspace] = await Promise.all([overlayIn(files, 'workspace'), overlayIn(files, 'home')])
      const overlay = program.listsChanges === true ? inWorkspace : undefined
      return startLeaseScript(
        { workspace, home, scratchDir, objects, overlay, ...owner, ...(bwrap !== undefined && { bwrap }) },
        program,
      )
    },
    async settleBaseline(leaseId, series, id, end) {
      await (await treeAt(leaseFiles(instance, leaseId), {}, 'workspace', series)).settle(id, end)
    },
    async hasDirectory(leaseId, tree, names) {
      const directory = leaseFiles(instance, leaseId)[tree]
      const isDirectory = async (name: string) =>
        lstat(join(directory, assertPathBelow(name))).then(
          found => found.isDirectory(),
          () => false,
        )
      const [, ...there] = await Promise.all([owned(leaseId), ...names.map(isDirectory)])
      return there.includes(true)
    },
  }
}
