import { hash } from 'node:crypto'
import { chmodSync, closeSync, constants, openSync, readlinkSync, readSync, type Stats } from 'node:fs'
import type { Baseline } from './baseline.ts'
import { remove } from './clear.ts'
import { nativePath } from './native-path.ts'
import type { Plan } from './plan.ts'
import { chunkBytes, TreeError } from './protocol.ts'
import { CHUNK_BYTES, kinds, type RecordHead, readChunk, readHead, SIZE_BYTES, sizeAt } from './record.ts'
import { type Entered, type Visitor, walk } from './walk.ts'

const READ = constants.O_RDONLY | constants.O_NOFOLLOW

/** What a tree has to become another one. */
interface Difference {
  /** The part of the plan that the tree lacks. Its directories are those that it lacks or that have to be set anew. */
  readonly plan: Plan
  /** Directories to make. */
  readonly made: readonly string[]
}

/**
 * Compares the current directory with a plan, and removes from it what the plan does not have. A file stays if its mode,
 * time, length and content are the plan's. Its content is read, unless it is the file that a baseline lists with the same
 * content.
 * @param baseline of a tree over the same base
 * @throws TreeError `unsuited` if most files differ
 */
export async function differenceOf(index: Buffer, plan: Plan, baseline: Baseline | undefined): Promise<Difference> {
  const comparing = new Comparing(index, baseline)
  await walk(comparing, {})
  const { same, present, removed } = comparing
  const files = plan.files.filter(({ path }) => !same.has(path))
  if (files.length * 2 > plan.files.length) throw new TreeError({ code: 'unsuited', message: 'most files differ' })
  const symlinks = plan.symlinks.filter(({ path }) => !same.has(path))
  const made = plan.directories.map(({ path }) => path).filter(path => !present.has(path))
  const touched = new Set([...removed, ...[...files, ...symlinks].map(({ path }) => path), ...made].map(parentOf))
  for (const path of touched) {
    const mode = present.get(path)?.mode
    if (mode !== undefined && (mode & 0o700) !== 0o700) chmodSync(nativePath(path), 0o700)
  }
  for (const path of removed) remove(Buffer.from(path, 'latin1'))
  const directories = plan.directories.filter(({ path, mode, mtimeUs }) => {
    const stats = present.get(path)
    return stats === undefined || touched.has(path) || !hasAttributes(stats, mode, mtimeUs)
  })
  const placements = new Map(
    [...plan.placements].flatMap(([pack, all]) => {
      const needed = all.filter(({ file }) => !same.has(file.path))
      return needed.length === 0 ? [] : [[pack, needed]]
    }),
  )
  return { plan: { directories, files, symlinks, hardLinks: [], placements }, made }
}

class Comparing implements Visitor<Entered> {
  /** Files and links that stay. */
  readonly same = new Set<string>()
  /** Directories that stay. */
  readonly present = new Map<string, Stats>()
  readonly removed: string[] = []
  readonly #index: Buffer
  readonly #baseline: Baseline | undefined
  readonly #heads = new Map<string, RecordHead & { readonly at: number }>()

  constructor(index: Buffer, baseline: Baseline | undefined) {
    this.#index = index
    this.#baseline = baseline
    for (let at = 0, head = readHead(index, at); head !== undefined; at = head.end, head = readHead(index, at)) {
      this.#heads.set(head.path, { ...head, at })
    }
  }

  directory(path: string, stats: Stats): Entered | undefined {
    if (this.#heads.get(path)?.kind === kinds.directory) {
      this.present.set(path, stats)
      return {}
    }
    this.removed.push(path)
    return undefined
  }

  entry(path: string, stats: Stats): undefined {
    if (this.#isSame(path, stats)) this.same.add(path)
    else this.removed.push(path)
  }

  tooLong(): void {
    throw new TreeError({ code: 'unsuited', message: 'a path is too long' })
  }

  #isSame(path: string, stats: Stats): boolean {
    const head = this.#heads.get(path)
    if (head?.kind === kinds.symlink && stats.isSymbolicLink()) {
      const target = this.#index.toString('latin1', head.tailAt, head.end)
      return hasTime(stats, head.mtimeUs) && readlinkSync(nativePath(path), { encoding: 'latin1' }) === target
    }
    if (head?.kind !== kinds.file || !stats.isFile() || sizeAt(this.#index, head.at) !== stats.size) return false
    if (!hasAttributes(stats, head.mode, head.mtimeUs)) return false
    const known = this.#baseline?.find(path, stats)
    return (known?.untouched === true && this.#isListed(head, known)) || this.#hasContent(path, head)
  }

  /** Returns whether a baseline lists the same content for a file. */
  #isListed(head: RecordHead, known: { readonly start: number }): boolean {
    const { index } = this.#baseline ?? { index: Buffer.alloc(0) }
    const other = readHead(index, known.start)
    if (other?.kind !== kinds.file || other.end - other.tailAt !== head.end - head.tailAt) return false
    const from = other.tailAt - head.tailAt
    return chunksOf(this.#index, head).every(({ at, sha256, length }) => {
      const chunk = readChunk(index, at + from)
      return chunk.sha256 === sha256 && chunk.length === length
    })
  }

  #hasContent(path: string, head: RecordHead): boolean {
    const fd = openSync(nativePath(path), READ)
    try {
      return chunksOf(this.#index, head).every(({ length, sha256 }) => {
        if (length > chunkBytes || readSync(fd, buffer, 0, length, null) !== length) return false
        return hash('sha256', buffer.subarray(0, length), 'binary') === sha256
      })
    } finally {
      closeSync(fd)
    }
  }
}

const buffer = Buffer.allocUnsafeSlow(chunkBytes)

function chunksOf(index: Buffer, { tailAt, end }: RecordHead) {
  const count = (end - tailAt - SIZE_BYTES) / CHUNK_BYTES
  return Array.from({ length: count }, (_, n) => {
    const at = tailAt + SIZE_BYTES + n * CHUNK_BYTES
    return { at, ...readChunk(index, at) }
  })
}

const hasTime = (stats: Stats, mtimeUs: number): boolean => Math.round(stats.mtimeMs * 1000) === mtimeUs

const hasAttributes = (stats: Stats, mode: number, mtimeUs: number): boolean =>
  (stats.mode & 0o777) === mode && hasTime(stats, mtimeUs)

/** Returns the directory above a path; the current one has the empty path. */
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
