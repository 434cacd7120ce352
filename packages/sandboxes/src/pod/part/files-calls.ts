import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { treeWithBaselines } from '../../confined/directory-tree.ts'
import { assertPathBelow } from '../../confined/path-below.ts'
import type { TreeName } from '../../lease-program.ts'
import { isSeries } from '../../leases/series.ts'
import type { CallHandlers } from '../../line/serve-line.ts'
import { programCalls } from '../../remote/program-calls.ts'
import { openPartPrograms } from './part-programs.ts'

/** Where the container that works at a sandbox's files has them. */
export interface FilesPlace {
  readonly workspace: string
  readonly home: string
  /** Of the scripts that ask for a directory, one after another. */
  readonly scratch: string
  /** Out of the sandbox's sight. */
  readonly baselines: string
  /** Node's binary, and the bundle of the tree program. */
  readonly nodePath: string
  readonly treePath: string
}

/**
 * Answers the host's calls about files. It runs in a container of its own: the sandbox's programs are of the same user,
 * and neither see nor signal those of another container.
 */
export function filesCalls(place: FilesPlace): CallHandlers {
  const programs = openPartPrograms(place)
  const treeAt = (tree: TreeName, series: string) => {
    if (tree !== 'workspace' && tree !== 'home') throw new TypeError(`not a tree: ${JSON.stringify(tree)}`)
    if (!isSeries(series)) throw new TypeError(`not a series of baselines: ${JSON.stringify(series)}`)
    return treeWithBaselines((access, handles) => programs.tree(tree, access, handles), join(place.baselines, series))
  }
  return programCalls({
    async run(_, program) {
      if (program.kind === 'script') return await programs.script(program)
      const { access, baseline, tree } = program
      return await treeAt(tree, baseline?.series ?? tree).run(access, baseline)
    },
    settleBaseline: async (_, series, id, end) => await treeAt('workspace', series).settle(id, end),
    async hasDirectory(_, tree, names) {
      const found = names.map(name => lstat(join(place[tree], assertPathBelow(name))).catch(() => null))
      return (await Promise.all(found)).some(stats => stats?.isDirectory() === true)
    },
  })
}
