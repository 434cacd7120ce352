import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { nativePath } from './native-path.ts'
import { MAX_PATH_BYTES } from './record.ts'

/** A directory that a walk has entered. */
export interface Entered {
  /** The next path in it, in byte order, where what it holds is known: its names are not read then. */
  readonly next?: () => string | undefined
}

/** What a walk hands out, parents first and names in byte order. */
export interface Visitor<D extends Entered> {
  /** @returns undefined to leave the directory and all below it out */
  directory(path: string, stats: Stats, parent: D): D | undefined
  /** Anything that is no directory. @returns a promise only where the walk has to wait */
  entry(path: string, stats: Stats, parent: D): Promise<void> | undefined
  tooLong(parent: D): void
}

interface Level<D extends Entered> {
  readonly directory: D
  readonly next: () => string | undefined
}

/** After so many entries the walk lets in what goes on beside it: content that was compressed is then sent. */
const ENTRIES_AT_ONCE = 1024

/**
 * Walks the current directory. The tree may change all the while: what vanishes is passed over. Whoever changes it can
 * make a directory a link between two calls; such a walk then strays through what this process can see, the tree and the
 * host's programs, both read-only, with the rights of the tree's owner: its capability counts for the owner's files alone.
 */
export async function walk<D extends Entered>(visitor: Visitor<D>, root: D): Promise<void> {
  const levels: Level<D>[] = [{ directory: root, next: listing('.', '') }]
  let entries = 0
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (++entries % ENTRIES_AT_ONCE === 0) await new Promise(setImmediate)
    const path = level.next()
    if (path === undefined) {
      levels.pop()
      continue
    }
    if (path.length > MAX_PATH_BYTES) {
      visitor.tooLong(level.directory)
      continue
    }
    const stats = statOf(nativePath(path))
    if (stats === undefined) continue
    if (stats.isDirectory()) {
      const directory = visitor.directory(path, stats, level.directory)
      if (directory !== undefined) levels.push({ directory, next: directory.next ?? listing(path, `${path}/`) })
    } else {
      const waiting = visitor.entry(path, stats, level.directory)
      if (waiting !== undefined) await waiting
    }
  }
}

const missing = { throwIfNoEntry: false } as const

/** Called for every entry: without a closure of its own. */
function statOf(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, missing)
  } catch (error) {
    return ignoreGone(error)
  }
}

/** Paths of what a directory on the disk holds. */
function listing(directory: string, prefix: string): () => string | undefined {
  const names = vanishing(() => readdirSync(nativePath(directory), { encoding: 'latin1' }).sort()) ?? []
  let at = 0
  return () => {
    const name = names[at++]
    return name === undefined ? undefined : prefix + name
  }
}

/** Undefined where the file has gone or become another kind of file since it was listed. */
export function vanishing<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    return ignoreGone(error)
  }
}

function ignoreGone(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && gone.has(error.code))) throw error
}

const gone = new Set<unknown>(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'ENXIO', 'EINVAL'])
