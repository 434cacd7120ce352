import { stagingName, TreeError, type TreeLimits } from './protocol.ts'
import { CHUNK_BYTES, kinds, MAX_PATH_BYTES, type RecordHead, readHead, readPlace, SIZE_BYTES } from './record.ts'

/** A directory to create. */
export interface PlannedDirectory {
  readonly path: string
  readonly mode: number
  readonly mtimeUs: number
}

/** A file to write; its chunks arrive in any order. */
export interface PlannedFile {
  readonly path: string
  readonly mode: number
  readonly mtimeUs: number
  readonly size: number
  /** Number of chunks that are not yet written. */
  left: number
}

/** A symbolic or hard link to create. */
export interface PlannedLink {
  readonly path: string
  readonly target: string
  readonly mtimeUs: number
}

/** A piece of a pack, and its position in a file. */
export interface Placement {
  readonly file: PlannedFile
  readonly at: number
  readonly offset: number
  readonly length: number
}

/** Everything that an index contains. */
export interface Plan {
  readonly directories: readonly PlannedDirectory[]
  readonly files: readonly PlannedFile[]
  readonly symlinks: readonly PlannedLink[]
  readonly hardLinks: readonly PlannedLink[]
  readonly placements: ReadonlyMap<number, readonly Placement[]>
}

const MAX_NAME_BYTES = 255

/**
 * Reads an untrusted index and refuses everything that no sealed tree contains. No path in the result leaves the tree:
 * each consists of plain names, appears once, and lies in a directory that an earlier entry creates. Links are created
 * last, so no component of a path is a link while files are written.
 *
 * @param packs source bytes of every pack that will come
 * @param reserved names at the top that no entry may have
 * @throws TreeError if the index is malformed or exceeds a limit
 */
export function planOf(
  index: Buffer,
  options: { limits: TreeLimits; packs: ReadonlyMap<number, number>; reserved: ReadonlySet<string> },
): Plan {
  const planner = new Planner(options)
  let at = 0
  while (at < index.length) {
    const head = readHead(index, at)
    if (head === undefined) throw malformed('an entry is cut short')
    planner.add(index, head)
    at = head.end
  }
  return planner
}

class Planner implements Plan {
  readonly directories: PlannedDirectory[] = []
  readonly files: PlannedFile[] = []
  readonly symlinks: PlannedLink[] = []
  readonly hardLinks: PlannedLink[] = []
  readonly placements = new Map<number, Placement[]>()
  readonly #kinds = new Map<string, number>()
  readonly #limits: TreeLimits
  readonly #packs: ReadonlyMap<number, number>
  readonly #reserved: ReadonlySet<string>
  #sourceBytes = 0

  constructor(options: { limits: TreeLimits; packs: ReadonlyMap<number, number>; reserved: ReadonlySet<string> }) {
    this.#limits = options.limits
    this.#packs = options.packs
    this.#reserved = options.reserved
  }

  add(index: Buffer, head: RecordHead): void {
    const { path, mtimeUs } = head
    this.#checkPath(path)
    if (!Number.isSafeInteger(mtimeUs)) throw malformed('a time is not a number of microseconds')
    if ((head.mode & ~0o777) !== 0) throw malformed('a mode has more than the rwx bits')
    this.#kinds.set(path, head.kind)
    if (this.#kinds.size > this.#limits.files) {
      throw new TreeError({ code: 'over_limit', limit: 'files', atLeast: this.#kinds.size })
    }
    switch (head.kind) {
      case kinds.directory:
        if (head.end !== head.tailAt) throw malformed('a directory has a tail')
        this.directories.push({ path, mode: head.mode, mtimeUs })
        break
      case kinds.file:
        this.#addFile(index, head)
        break
      case kinds.symlink: {
        const target = index.toString('latin1', head.tailAt, head.end)
        if (target === '' || target.length > MAX_PATH_BYTES || target.includes('\0')) {
          throw malformed('a symbolic link has an impossible target')
        }
        this.symlinks.push({ path, target, mtimeUs })
        break
      }
      case kinds.hardLink: {
        const target = index.toString('latin1', head.tailAt, head.end)
        if (this.#kinds.get(target) !== kinds.file) throw malformed('a hard link points to no earlier file')
        this.hardLinks.push({ path, target, mtimeUs })
        break
      }
      default:
        throw malformed('an entry has an unknown kind')
    }
  }

  #checkPath(path: string): void {
    if (path.length > MAX_PATH_BYTES || path.includes('\0')) throw malformed('a path that no file can have')
    const slash = path.lastIndexOf('/')
    const name = path.slice(slash + 1)
    if (name === '' || name === '.' || name === '..' || name.length > MAX_NAME_BYTES)
      throw malformed('a path component is not a plain name')
    if (slash >= 0) {
      // If the parent is an entry itself, every component of its path was checked.
      if (this.#kinds.get(path.slice(0, slash)) !== kinds.directory) throw malformed('an entry lies in no directory')
    } else if (name === stagingName || this.#reserved.has(name)) {
      throw malformed('a name that is reserved')
    }
    if (this.#kinds.has(path)) throw malformed('a path appears twice')
  }

  #addFile(index: Buffer, head: RecordHead): void {
    const chunksAt = head.tailAt + SIZE_BYTES
    const count = (head.end - chunksAt) / CHUNK_BYTES
    if (count < 0 || !Number.isInteger(count)) throw malformed('a list of chunks is cut short')
    const size = index.readDoubleLE(head.tailAt)
    const { path, mode, mtimeUs } = head
    const file: PlannedFile = { path, mode, mtimeUs, size, left: count }
    let at = 0
    for (let next = chunksAt; next < head.end; next += CHUNK_BYTES) {
      const { pack, offset, length } = readPlace(index, next)
      const packBytes = this.#packs.get(pack)
      if (packBytes === undefined || length === 0 || offset + length > packBytes) {
        throw malformed('a chunk lies in no pack')
      }
      const placements = this.placements.get(pack) ?? []
      if (placements.length === 0) this.placements.set(pack, placements)
      placements.push({ file, at, offset, length })
      at += length
    }
    // Declared sizes are sums of the chunks, so no byte can come that was not counted here first.
    if (at !== size) throw malformed('a file is not as long as its chunks')
    this.#sourceBytes += size
    if (this.#sourceBytes > this.#limits.sourceBytes) {
      throw new TreeError({ code: 'over_limit', limit: 'source', atLeast: this.#sourceBytes })
    }
    this.files.push(file)
  }
}

export function malformed(message: string): TreeError {
  return new TreeError({ code: 'malformed', message })
}
