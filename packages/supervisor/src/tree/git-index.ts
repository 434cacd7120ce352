import { lstatSync, readFileSync } from 'node:fs'
import { nativePath } from './native-path.ts'

const HEADER_BYTES = 12
const FIXED_BYTES = 62
const TRAILER_BYTES = 20
const FLAGS_AT = 60
const MAX_INDEX_BYTES = 256 * 1024 * 1024
/** Required extensions of split and sparse indexes, whose entries are incomplete or not all files. */
const partial = new Set(['link', 'sdir'])

/**
 * Returns the paths that a git index names, in byte order, one character per byte. Returns undefined if the index does
 * not name them all or has an unknown format, such as one with SHA-256 object names.
 */
export function trackedPaths(index: Buffer): string[] | undefined {
  if (index.length < HEADER_BYTES + TRAILER_BYTES || index.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = index.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  const limit = index.length - TRAILER_BYTES
  const paths: string[] = []
  let at = HEADER_BYTES
  let previous = ''
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    if (at + FIXED_BYTES > limit) return undefined
    const flags = index.readUInt16BE(at + FLAGS_AT)
    let pathAt = at + FIXED_BYTES + (version > 2 && (flags & 0x4000) !== 0 ? 2 : 0)
    let kept = ''
    if (version === 4) {
      const strip = offsetAt(index, pathAt)
      kept = previous.slice(0, Math.max(0, previous.length - strip.value))
      pathAt = strip.end
    }
    const end = index.indexOf(0, pathAt)
    if (end < 0 || end >= limit) return undefined
    const path = kept + index.toString('latin1', pathAt, end)
    // The length in the flags reveals an entry with an unknown layout.
    const length = flags & 0xfff
    if (path === '' || (length < 0xfff && length !== path.length)) return undefined
    paths.push(path)
    previous = path
    at = version === 4 ? end + 1 : at + ((pathAt - at + path.length + 8) & ~7)
  }
  for (; at + 8 <= limit; at += 8 + index.readUInt32BE(at + 4)) {
    if (partial.has(index.toString('latin1', at, at + 4))) return undefined
  }
  return paths
}

/** Reads git's variable-width number, in which every continuation byte also adds one. */
function offsetAt(index: Buffer, at: number): { readonly value: number; readonly end: number } {
  let byte = index[at++] ?? 0
  let value = byte & 127
  while ((byte & 128) !== 0) {
    byte = index[at++] ?? 0
    value = (value + 1) * 128 + (byte & 127)
  }
  return { value, end: at }
}

/** Answers whether git tracks any file below a directory, for the repositories of a tree. */
export class TrackedDirectories {
  /** By the repository's directory with a slash; 'unknown' if its index cannot be read. */
  readonly #indexes = new Map<string, readonly string[] | 'unknown' | 'none'>()

  /** Returns true also if it is unknown. */
  tracks(directory: string): boolean {
    for (let end = directory.lastIndexOf('/') + 1; ; end = directory.lastIndexOf('/', end - 2) + 1) {
      const repository = directory.slice(0, end)
      const paths = this.#pathsOf(repository)
      if (paths === 'unknown') return true
      // A repository may lie within another, and either may track the directory.
      if (paths !== 'none' && holdsBelow(paths, `${directory.slice(end)}/`)) return true
      if (end === 0) return false
    }
  }

  #pathsOf(repository: string): readonly string[] | 'unknown' | 'none' {
    const known = this.#indexes.get(repository)
    if (known !== undefined) return known
    const read = readIndex(repository)
    this.#indexes.set(repository, read)
    return read
  }
}

function readIndex(repository: string): readonly string[] | 'unknown' | 'none' {
  try {
    const git = lstatSync(nativePath(`${repository}.git`), { throwIfNoEntry: false })
    if (git === undefined) return 'none'
    // A file or a link means that the index is elsewhere, perhaps outside this tree (worktrees, submodules).
    if (!git.isDirectory()) return 'unknown'
    const path = nativePath(`${repository}.git/index`)
    const index = lstatSync(path, { throwIfNoEntry: false })
    if (index === undefined) return 'none'
    if (!index.isFile() || index.size > MAX_INDEX_BYTES) return 'unknown'
    return trackedPaths(readFileSync(path)) ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Returns true if one of the paths, which are in byte order, begins with the prefix. */
function holdsBelow(paths: readonly string[], prefix: string): boolean {
  let low = 0
  for (let high = paths.length; low < high; ) {
    const middle = (low + high) >>> 1
    if ((paths[middle] ?? '') < prefix) low = middle + 1
    else high = middle
  }
  return paths[low]?.startsWith(prefix) ?? false
}
