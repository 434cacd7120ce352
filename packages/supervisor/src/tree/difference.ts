import { hash } from 'node:crypto'
import { chmodSync, closeSync, constants, openSync, readlinkSync, readSync, type Stats } from 'node:fs'
import type { Baseline } from './baseline.ts'
import { remove } from './clear.ts'
import { IDENTITY_DOUBLES } from './index-writer.ts'
import { nativePath } from './native-path.ts'
import type { Plan } from './plan.ts'
import { chunkBytes, TreeError } from './protocol.ts'
import { CHUNK_BYTES, kinds, type RecordHead, readChunk, readHead, SIZE_BYTES, sizeAt } from './record.ts'
import { type Entered, type Visitor, walk } from './walk.ts'

const READ = constants.O_RDONLY | constants.O_NOFOLLOW

/** An entry of an index, and where it begins. */
interface Head extends RecordHead {
  readonly at: number
}

/** What a tree has to become another one. */
interface Difference {
  /** The part of the plan that the tree lacks. Its directories are those that it lacks or that have to be set anew. */
  readonly plan: Plan
  /** Directories to make. */
  readonly made: readonly string[]
  /** Identities of files and links that stay, as far as the baseline has told them. */
  readonly identities: ReadonlyMap<string, Float64Array>
}

/** What a plan sets of a directory. */
interface Attributes {
  readonly mode: number
  readonly mtimeUs: number
}

/**
 * Compares the current directory with a plan, and removes from it what the plan does not have. A file stays if its mode,
 * time, length and content are the plan's. Its content is read, unless it is the file that a baseline lists with the same
 * content.
 *
 * The tree is an overlay over layers that never change, and nobody has written to it yet. A directory whose times are those of
 * the baseline is one of these layers, and so is everything below it: whatever covers a path gives the directories above it
 * new times. Nothing below is looked at then, and the baseline tells what is there.
 * @param baseline of a tree over the same base
 * @throws TreeError `unsuited` if most files differ
 */
export async function differenceOf(index: Buffer, plan: Plan, baseline: Baseline | undefined): Promise<Difference> {
  const comparing = new Comparing(index, baseline)
  await walk(comparing, {})
  const { identities, same, present, removed } = comparing
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
    const attributes = present.get(path)
    return attributes?.mode !== mode || attributes.mtimeUs !== mtimeUs || touched.has(path)
  })
  const placements = new Map(
    [...plan.placements].flatMap(([pack, all]) => {
      const needed = all.filter(({ file }) => !same.has(file.path))
      return needed.length === 0 ? [] : [[pack, needed]]
    }),
  )
  return { plan: { directories, files, symlinks, hardLinks: [], placements }, made, identities }
}

class Comparing implements Visitor<Entered> {
  /** Files and links that stay. */
  readonly same = new Set<string>()
  readonly identities = new Map<string, Float64Array>()
  /** Directories that stay. */
  readonly present = new Map<string, Attributes>()
  readonly removed: string[] = []
  readonly #index: Buffer
  readonly #baseline: Baseline | undefined
  readonly #heads = new Map<string, Head>()

  constructor(index: Buffer, baseline: Baseline | undefined) {
    this.#index = index
    this.#baseline = baseline
    for (const head of headsOf(index, 0, index.length)) this.#heads.set(head.path, head)
  }

  directory(path: string, stats: Stats): Entered | undefined {
    const known = this.#baseline?.find(path, stats)
    if (this.#heads.get(path)?.kind !== kinds.directory) {
      this.removed.push(path)
      return undefined
    }
    this.present.set(path, { mode: stats.mode & 0o777, mtimeUs: microseconds(stats) })
    return known?.hasTimes === true && known.kind === kinds.directory && this.#compareBelow(path) ? undefined : {}
  }

  /** Compares everything below a directory by the baseline. @returns false, with nothing done, if that does not tell all */
  #compareBelow(path: string): boolean {
    const below = this.#baseline?.below(path, (_start, _end, isWhole) => isWhole)
    if (this.#baseline === undefined || below === undefined) return false
    let gone = '/'
    let identity = 0
    for (const other of headsOf(this.#baseline.index, below.start, below.end)) {
      const at = identity
      identity += IDENTITY_DOUBLES
      if (other.path.startsWith(gone)) continue
      const head = this.#heads.get(other.path)
      if (other.kind === kinds.directory && head?.kind === kinds.directory) this.present.set(other.path, other)
      else if (head !== undefined && this.#isEqual(head, other)) {
        this.same.add(other.path)
        this.identities.set(other.path, below.identities.subarray(at, at + IDENTITY_DOUBLES))
      } else {
        this.removed.push(other.path)
        // A directory goes with everything in it.
        gone = `${other.path}/`
      }
    }
    return true
  }

  /** Returns whether two entries, of this index and of the baseline's, are the same file or link. */
  #isEqual(head: Head, other: Head): boolean {
    if (head.kind !== other.kind || head.mtimeUs !== other.mtimeUs) return false
    const { index } = this.#baseline ?? { index: Buffer.alloc(0) }
    if (head.kind === kinds.symlink)
      return this.#index.subarray(head.tailAt, head.end).equals(index.subarray(other.tailAt, other.end))
    if (head.kind !== kinds.file || head.mode !== other.mode) return false
    return sizeAt(this.#index, head.at) === sizeAt(index, other.at) && this.#isListed(head, other)
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
    const { index } = this.#baseline ?? { index: Buffer.alloc(0) }
    const other = known?.untouched === true ? readHead(index, known.start) : undefined
    return this.#isListed(head, other) || this.#hasContent(path, head)
  }

  /** Returns whether an entry of the baseline has the same content as a file. */
  #isListed(head: RecordHead, other: RecordHead | undefined): boolean {
    const { index } = this.#baseline ?? { index: Buffer.alloc(0) }
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

/** Yields the entries of a part of an index. */
function* headsOf(index: Buffer, start: number, end: number): Generator<Head> {
  for (
    let at = start, head = readHead(index, at);
    head !== undefined && at < end;
    at = head.end, head = readHead(index, at)
  )
    yield { ...head, at }
}

function chunksOf(index: Buffer, { tailAt, end }: RecordHead) {
  const count = (end - tailAt - SIZE_BYTES) / CHUNK_BYTES
  return Array.from({ length: count }, (_, n) => {
    const at = tailAt + SIZE_BYTES + n * CHUNK_BYTES
    return { at, ...readChunk(index, at) }
  })
}

const microseconds = (stats: Stats): number => Math.round(stats.mtimeMs * 1000)

const hasTime = (stats: Stats, mtimeUs: number): boolean => microseconds(stats) === mtimeUs

const hasAttributes = (stats: Stats, mode: number, mtimeUs: number): boolean =>
  (stats.mode & 0o777) === mode && hasTime(stats, mtimeUs)

/** Returns the directory above a path; the current one has the empty path. */
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
