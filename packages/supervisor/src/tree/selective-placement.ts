import { lstatSync, mkdirSync, renameSync } from 'node:fs'
import { nativePath } from './native-path.ts'
import { malformed, type Plan } from './plan.ts'
import { Scope } from './scope.ts'

/** Places the requested paths of a tree beside what the current directory holds. */
export class SelectivePlacement {
  /** Positions of the paths that are placed. */
  readonly open: readonly number[]
  /** The same paths, and the directories that had to be made above them. */
  readonly #roots: readonly string[]
  readonly #made = new Set<string>()
  readonly #modes: ReadonlyMap<string, number>

  /**
   * @param only paths as text
   * @throws TreeError if the tree holds anything else
   */
  constructor(only: readonly string[], plan: Plan) {
    const scope = new Scope(only)
    this.#modes = new Map(plan.directories.map(({ path, mode }) => [path, mode]))
    const held = new Set<string>()
    for (const { path } of [...plan.directories, ...plan.files, ...plan.symlinks, ...plan.hardLinks]) {
      if (!(this.#modes.has(path) ? scope.leadsTo(path) : scope.holds(path)))
        throw malformed('a path that was not asked for')
      held.add(path)
    }
    const roots = only.map(path => Buffer.from(path, 'utf8').toString('latin1'))
    this.open = [...roots.keys()].filter(at => held.has(roots[at] ?? '') && isFree(roots[at] ?? ''))
    this.#roots = this.open.map(at => roots[at] ?? '')
  }

  /** Moves the paths from the staging directory; each appears whole. */
  move(staging: string): void {
    for (const root of this.#roots) {
      for (const parent of parentsOf(root)) this.#make(parent)
      renameSync(nativePath(`${staging}/${root}`), nativePath(root))
    }
  }

  /** Returns true if the tree's entry at this path is now in its place. */
  hasPlaced(path: string): boolean {
    return this.#made.has(path) || this.#roots.some(root => path === root || path.startsWith(`${root}/`))
  }

  #make(path: string): void {
    if (lstatSync(nativePath(path), { throwIfNoEntry: false }) !== undefined) return
    // Its final mode comes last: it may forbid what is still to be placed.
    mkdirSync(nativePath(path), 0o700)
    if (this.#modes.has(path)) this.#made.add(path)
  }
}

/** Returns true if nothing is at a path, and everything that exists above it is a directory. */
function isFree(path: string): boolean {
  for (const parent of parentsOf(path)) {
    const stats = lstatSync(nativePath(parent), { throwIfNoEntry: false })
    if (stats === undefined) return true
    if (!stats.isDirectory()) return false
  }
  return lstatSync(nativePath(path), { throwIfNoEntry: false }) === undefined
}

/** Returns the directories above a path, the highest first. */
function parentsOf(path: string): string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, at) => segments.slice(0, at + 1).join('/'))
}
