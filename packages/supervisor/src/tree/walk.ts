import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { nativePath } from './native-path.ts'
import { MAX_PATH_BYTES } from './record.ts'

/** What a walk hands out, parents first and names in byte order. */
export interface Visitor {
  /** @returns false to leave the directory and all below it out */
  directory(path: string, stats: Stats): boolean
  /** Anything that is no directory. @returns a promise only where the walk has to wait */
  entry(path: string, stats: Stats): Promise<void> | undefined
  tooLong(): void
}

interface Level {
  readonly prefix: string
  readonly names: readonly string[]
  /** The calls take every path here as it is. */
  readonly native: boolean
  next: number
}

/** After so many entries the walk lets in what goes on beside it: content that was compressed is then sent. */
const ENTRIES_AT_ONCE = 1024

/**
 * Walks the current directory. The tree may change all the while: what vanishes is passed over. Whoever changes it can
 * make a directory a link between two calls; such a walk then strays, with the rights of the tree's owner, through what
 * this process can see: the tree and the host's programs, both read-only.
 */
export async function walk(visitor: Visitor): Promise<void> {
  const levels: Level[] = [levelOf('.', '')]
  let entries = 0
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (++entries % ENTRIES_AT_ONCE === 0) await new Promise(setImmediate)
    const name = level.names[level.next++]
    if (name === undefined) {
      levels.pop()
      continue
    }
    const path = level.prefix + name
    if (path.length > MAX_PATH_BYTES) {
      visitor.tooLong()
      continue
    }
    const stats = statOf(level.native ? path : nativePath(path))
    if (stats === undefined) continue
    if (stats.isDirectory()) {
      if (visitor.directory(path, stats)) levels.push(levelOf(path, `${path}/`))
    } else {
      const waiting = visitor.entry(path, stats)
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

function levelOf(path: string, prefix: string): Level {
  const names = vanishing(() => readdirSync(nativePath(path), { encoding: 'latin1' }).sort()) ?? []
  return { prefix, names, native: typeof nativePath(prefix + names.join('')) === 'string', next: 0 }
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
