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
  next: number
}

/**
 * Walks the current directory. The tree may change all the while: what vanishes is passed over. Whoever changes it can
 * make a directory a link between two calls; such a walk then strays, with the rights of the tree's owner, through what
 * this process can see: the tree and the host's programs, both read-only.
 */
export async function walk(visitor: Visitor): Promise<void> {
  const levels: Level[] = [{ prefix: '', names: namesIn('.') ?? [], next: 0 }]
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
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
    const stats = statOf(path)
    if (stats === undefined) continue
    if (stats.isDirectory()) {
      if (visitor.directory(path, stats)) levels.push({ prefix: `${path}/`, names: namesIn(path) ?? [], next: 0 })
    } else {
      const waiting = visitor.entry(path, stats)
      if (waiting !== undefined) await waiting
    }
  }
}

function statOf(path: string): Stats | undefined {
  return vanishing(() => lstatSync(nativePath(path), { throwIfNoEntry: false }))
}

function namesIn(path: string): readonly string[] | undefined {
  return vanishing(() => readdirSync(nativePath(path), { encoding: 'latin1' }).sort())
}

/** Undefined where the file has gone or become another kind of file since it was listed. */
export function vanishing<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (error instanceof Error && 'code' in error && gone.has(error.code)) return undefined
    throw error
  }
}

const gone = new Set<unknown>(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'ENXIO', 'EINVAL'])
