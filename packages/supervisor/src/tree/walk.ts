import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { openedDirectory } from './closed.ts'
import { nativePath } from './native-path.ts'
import { MAX_PATH_BYTES } from './record.ts'

/** A directory that a walk has entered. */
export interface Entered {
  /** Returns the next path in it, in byte order, if its content is known; its names are not read then. */
  readonly next?: () => string | undefined
}

/** Receives a walk's entries: parents first, names in byte order. */
export interface Visitor<D extends Entered> {
  /** @returns undefined to skip the directory and everything below it */
  directory(path: string, stats: Stats, parent: D): D | undefined
  /** Receives anything but a directory. @returns a promise only if the walk must wait */
  entry(path: string, stats: Stats, parent: D): Promise<void> | undefined
  tooLong(parent: D): void
}

interface Level<D extends Entered> {
  readonly directory: D
  readonly next: () => string | undefined
  /** Closes a directory that was opened for this walk. */
  readonly close?: () => void
}

/** After this many entries the walk yields, so that compressed content is sent meanwhile. */
const ENTRIES_AT_ONCE = 1024

/**
 * Walks the current directory. The tree may change meanwhile, and entries that vanish are skipped. An agent can replace
 * a directory by a link between two calls. The walk then strays through everything that this process can see: the tree
 * and the host's programs, both read-only, with the rights of the tree's owner, whose files alone its capability
 * covers.
 */
export async function walk<D extends Entered>(visitor: Visitor<D>, root: D): Promise<void> {
  const levels: Level<D>[] = [{ directory: root, next: listing('.', '') }]
  try {
    await descend(levels, visitor)
  } finally {
    for (const { close } of levels.toReversed()) close?.()
  }
}

async function descend<D extends Entered>(levels: Level<D>[], visitor: Visitor<D>): Promise<void> {
  let entries = 0
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (++entries % ENTRIES_AT_ONCE === 0) await new Promise(setImmediate)
    const path = level.next()
    if (path === undefined) {
      level.close?.()
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
      if (directory === undefined) continue
      const close = openedDirectory(path, stats.mode)
      const next = directory.next ?? listing(path, `${path}/`)
      levels.push({ directory, next, ...(close !== undefined && { close }) })
    } else {
      const waiting = visitor.entry(path, stats, level.directory)
      if (waiting !== undefined) await waiting
    }
  }
}

const missing = { throwIfNoEntry: false } as const

/** A function of its own, because a closure for every entry would be slow. */
function statOf(path: string | Buffer): Stats | undefined {
  try {
    return lstatSync(path, missing)
  } catch (error) {
    return ignoreGone(error)
  }
}

/** Returns the paths in a directory on disk, one per call. */
function listing(directory: string, prefix: string): () => string | undefined {
  const names = vanishing(() => readdirSync(nativePath(directory), { encoding: 'latin1' }).sort()) ?? []
  let at = 0
  return () => {
    const name = names[at++]
    return name === undefined ? undefined : prefix + name
  }
}

/** Returns undefined if the file has gone, or has become another kind of file, since it was listed. */
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
