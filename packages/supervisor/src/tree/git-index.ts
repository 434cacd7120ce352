import { lstatSync, readFileSync } from 'node:fs'
import { nativePath } from './native-path.ts'

const HEADER_BYTES = 12
const FIXED_BYTES = 62
const TRAILER_BYTES = 20
const FLAGS_AT = 60
const MAX_INDEX_BYTES = 256 * 1024 * 1024
/** The required extensions of split and sparse indexes, whose entries are not all in this file or not all files. */
const partial = new Set(['link', 'sdir'])

/**
 * The paths that a git index names, in byte order, one character per byte. Undefined for an index that does not name
 * them all, or in a form that is not known here, such as one with SHA-256 object names.
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
    // The length that the flags repeat tells an entry of another layout from one of ours.
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

/** Git's variable-width number, in which every continuation also adds one. */
function offsetAt(index: Buffer, at: number): { readonly value: number; readonly end: number } {
  let byte = index[at++] ?? 0
  let value = byte & 127
  while ((byte & 128) !== 0) {
    byte = index[at++] ?? 0
    value = (value + 1) * 128 + (byte & 127)
  }
  return { value, end: at }
}

/** Answers for the repositories of a tree whether git tracks anything below a directory. */
export class TrackedDirectories {
  /** By the repository's directory with its slash; 'unknown' where its index does not tell. */
  readonly #indexes = new Map<string, readonly string[] | 'unknown' | 'none'>()

  /** True also where it cannot be told. */
  tracks(directory: string): boolean {
    for (let end = directory.lastIndexOf('/') + 1; ; end = directory.lastIndexOf('/', end - 2) + 1) {
      const repository = directory.slice(0, end)
      const paths = this.#pathsOf(repository)
      if (paths === 'unknown') return true
      // A directory may lie in a repository within a repository; either may track it.
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
    // A file or a link says that the index lies elsewhere (worktrees, submodules); it may be out of this tree.
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

/** Whether one of the paths, which are in byte order, begins with the prefix. */
function holdsBelow(paths: readonly string[], prefix: string): boolean {
  let low = 0
  for (let high = paths.length; low < high; ) {
    const middle = (low + high) >>> 1
    if ((paths[middle] ?? '') < prefix) low = middle + 1
    else high = middle
  }
  return paths[low]?.startsWith(prefix) ?? false
}
