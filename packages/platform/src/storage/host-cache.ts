import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { orAborted } from '../kit/or-aborted.ts'
import { errorCode } from '../kit/system-errors.ts'

/** Begins the name of a directory that is being written. */
const FRESH = 'new-'
/** Begins the name of a directory that is being removed. */
const OLD = 'old-'
/** Holds what an entry takes on disk, and while it is written, what was reserved for it. */
const SIZE = 'bytes'
/** Names the entry that an entry lies over. */
const BASE = 'base'
/** An entry that was asked for within this time may be about to be used by a sandbox that no row names yet. */
export const RECENT_MS = 10 * 60_000
/** No entry is written for longer. What is older is of a process that died. */
const WRITING_MS = 60 * 60_000

/** The host has no room for another entry now, which says nothing about the entry. */
export class HostFull extends Error {
  override readonly name = 'HostFull'
}

/** What bounds a cache. */
export interface HostCacheBounds {
  /** Of all entries together, those that are being written included. */
  readonly bytes: number
  /** Names the entries that sandboxes of this host use or are about to use. */
  readonly inUse: () => Promise<ReadonlySet<string>>
  /** Returns what the file system has free; replaced by tests. */
  readonly free?: (directory: string) => Promise<FreeRoom>
}

/** What a file system has free. One that makes inodes as it needs them has any number. */
interface FreeRoom {
  readonly bytes: number
  readonly inodes: number
}

/** What an entry needs besides its bytes. */
export interface EntryNeeds {
  /** Files, directories and links that it has at most. */
  readonly inodes?: number
  /** Name of the entry that it lies over, which stays as long as it does. */
  readonly base?: string
}

/** Writes an entry into an empty directory. @returns the bytes it takes on disk */
export type WriteEntry = (directory: string, signal: AbortSignal) => Promise<number>

interface Entry {
  readonly name: string
  readonly bytes: number
  readonly base: string | null
  /** Milliseconds since the epoch. */
  readonly usedAt: number
}

interface Writing {
  readonly done: Promise<void>
  readonly abort: AbortController
  waiting: number
}

/**
 * Directories of this host that are made from what is kept elsewhere, each under the name that decides its content. An
 * entry appears by a rename when it is whole, and never changes. Room is reserved before an entry is written; where it is
 * missing, the entries that were not used for longest go first, and never one in use. Processes that share the directory
 * share the bound.
 */
export class HostCache {
  readonly #dir: string
  readonly #bounds: HostCacheBounds
  /** This process writes an entry once, however many wait for it. */
  readonly #writing = new Map<string, Writing>()
  /** The removal under way. A tree of many files takes long to remove, and nobody who needs its room waits for that. */
  #removal: Promise<unknown> = Promise.resolve()

  constructor(dir: string, bounds: HostCacheBounds) {
    this.#dir = dir
    this.#bounds = bounds
  }

  /** Returns the path of an entry and notes its use; null if it is not there. */
  async find(name: string): Promise<string | null> {
    const path = join(this.#dir, name)
    const now = new Date()
    try {
      // The time keeps everybody from removing an entry that is about to be used.
      await utimes(path, now, now)
      return path
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null
      throw error
    }
  }

  /** Returns the names of the whole entries, the most recently used first. */
  async list(): Promise<readonly string[]> {
    const entries = (await this.#entries()).filter(({ name }) => !isUnfinished(name))
    return entries.toSorted((one, other) => other.usedAt - one.usedAt).map(({ name }) => name)
  }

  /** Returns the paths of an entry and of those that it lies over, topmost first, and notes their use. */
  async layersOf(name: string): Promise<readonly string[]> {
    const layers: string[] = []
    for (let next: string | null = name; next !== null; next = await this.#baseOf(next)) {
      const path = await this.find(next)
      if (path === null) break
      layers.push(path)
    }
    return layers
  }

  /** Removes a damaged entry, unless a sandbox uses it or another entry lies over it. @returns whether it is gone */
  async discard(name: string): Promise<boolean> {
    const layers = (await this.#entries()).filter(entry => entry.base === name && !entry.name.startsWith(OLD))
    if (layers.length > 0 || (await this.#bounds.inUse()).has(name)) return false
    await this.#putAside(name)
    return true
  }

  /** Returns the bytes that a whole entry takes; null if it is not there. */
  async bytesOf(name: string): Promise<number | null> {
    const text = await readFile(join(this.#dir, name, SIZE), 'utf8').catch(() => null)
    return text === null ? null : Number(text)
  }

  /**
   * Returns the path of an entry, written now if it is missing. The call itself keeps the writing going, which ends when
   * nobody waits for it any more.
   * @param bytes that the entry takes at most
   * @throws HostFull, whatever `write` throws, or the signal's reason
   */
  async provide(
    name: string,
    bytes: number,
    write: WriteEntry,
    signal: AbortSignal,
    needs: EntryNeeds = {},
  ): Promise<string> {
    signal.throwIfAborted()
    // Without a pause before it: an entry could be finished in that, or be given up, and be written again.
    const writing = this.#writing.get(name) ?? this.#begin(name, bytes, write, needs)
    writing.waiting += 1
    try {
      await orAborted(writing.done, signal)
    } finally {
      writing.waiting -= 1
      if (writing.waiting === 0) {
        if (this.#writing.get(name) === writing) this.#writing.delete(name)
        writing.abort.abort(new Error('nobody waits for the entry any more'))
      }
    }
    return join(this.#dir, name)
  }

  /**
   * Removes entries that are not in use: those that are not wanted, then the least recently used ones while all together
   * are over the bound. Also removes what dead processes left.
   * @returns how many directories it removed
   */
  async tidy(
    isWanted: (entry: { readonly name: string; readonly usedAt: Date }) => boolean,
    signal: AbortSignal,
  ): Promise<number> {
    let removed = 0
    for (const name of await this.#names()) {
      signal.throwIfAborted()
      if (!isUnfinished(name) || (await lastUse(join(this.#dir, name))) > Date.now() - WRITING_MS) continue
      await rm(join(this.#dir, name), { recursive: true, force: true })
      removed += 1
    }
    const entries = await this.#entries()
    let total = sum(entries)
    for (const entry of await this.#idle(entries)) {
      signal.throwIfAborted()
      const { name, usedAt, bytes } = entry
      if (total <= this.#bounds.bytes && isWanted({ name, usedAt: new Date(usedAt) })) continue
      if (!(await this.#remove(entry))) continue
      total -= bytes
      removed += 1
    }
    await this.#removal
    return removed
  }

  #begin(name: string, bytes: number, write: WriteEntry, needs: EntryNeeds): Writing {
    const abort = new AbortController()
    const done = this.#write(name, bytes, write, needs, abort.signal).finally(() => {
      if (this.#writing.get(name) === writing) this.#writing.delete(name)
    })
    // Whoever waits is told. A writing that all have left fails for nobody.
    done.catch(() => undefined)
    const writing: Writing = { done, abort, waiting: 0 }
    this.#writing.set(name, writing)
    return writing
  }

  async #write(
    name: string,
    bytes: number,
    write: WriteEntry,
    { inodes = 0, base }: EntryNeeds,
    signal: AbortSignal,
  ): Promise<void> {
    if ((await this.find(name)) !== null) return
    const fresh = join(this.#dir, `${FRESH}${randomUUID()}`)
    await mkdir(fresh, { recursive: true, mode: 0o700 })
    try {
      await writeFile(join(fresh, SIZE), String(bytes))
      if (base !== undefined) await writeFile(join(fresh, BASE), base)
      await this.#makeRoom({ bytes, inodes })
      const taken = await write(fresh, signal)
      signal.throwIfAborted()
      await writeFile(join(fresh, SIZE), String(taken))
      await rename(fresh, join(this.#dir, name))
    } catch (error) {
      await rm(fresh, { recursive: true, force: true })
      // Another process wrote it first.
      if (['EEXIST', 'ENOTEMPTY'].includes(errorCode(error) ?? '')) return
      throw errorCode(error) === 'ENOSPC' ? new HostFull('the disk of this host is full', { cause: error }) : error
    }
  }

  /** Two processes that reserve at once may both be refused, and none of them goes over the bound. */
  async #makeRoom(needed: FreeRoom): Promise<void> {
    const { bytes, free = freeRoom } = this.#bounds
    let total = 0
    // An entry can go once all that lie over it have gone.
    for (let isLess = true; isLess; ) {
      isLess = false
      const entries = await this.#entries()
      total = sum(entries)
      for (const entry of [null, ...(await this.#idle(entries))]) {
        if (entry !== null && (await this.#remove(entry))) {
          total -= entry.bytes
          isLess = true
        }
        if (total > bytes) continue
        if (fits(needed, await free(this.#dir))) return
        await this.#removal
        if (fits(needed, await free(this.#dir))) return
      }
    }
    if (total <= bytes) throw new HostFull('the disk of this host has no room for another entry')
    throw new HostFull(`this host has room for ${bytes} bytes, and those in use and asked for are ${total}`)
  }

  async #names(): Promise<readonly string[]> {
    return await readdir(this.#dir).catch(error => {
      if (errorCode(error) === 'ENOENT') return []
      throw error
    })
  }

  async #entries(): Promise<readonly Entry[]> {
    return await Promise.all(
      (await this.#names()).map(async name => {
        const path = join(this.#dir, name)
        // The room of an entry that is being removed may be given away.
        const text = name.startsWith(OLD) ? '0' : await readFile(join(path, SIZE), 'utf8').catch(() => '0')
        return { name, bytes: Number(text), base: await this.#baseOf(name), usedAt: await lastUse(path) }
      }),
    )
  }

  #baseOf(name: string): Promise<string | null> {
    return readFile(join(this.#dir, name, BASE), 'utf8').catch(() => null)
  }

  /** Returns whole entries that may go, the least recently used first. */
  async #idle(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const inUse = new Set([...(await this.#bounds.inUse()), ...entries.map(({ base }) => base)])
    return entries
      .filter(({ name, usedAt }) => !isUnfinished(name) && !inUse.has(name) && !isRecent(usedAt))
      .toSorted((one, other) => one.usedAt - other.usedAt)
  }

  /** @returns false if somebody has begun to use the entry meanwhile, or removed it */
  async #remove({ name }: Entry): Promise<boolean> {
    const isNeeded = async (old: string) =>
      isRecent(await lastUse(old)) ||
      (await this.#bounds.inUse()).has(name) ||
      (await this.#entries()).some(({ base }) => base === name)
    return this.#putAside(name, isNeeded)
  }

  /** Renames an entry and begins to remove it, unless it turns out to be needed. @returns whether it is gone */
  async #putAside(name: string, isNeeded = async (_: string) => false): Promise<boolean> {
    const path = join(this.#dir, name)
    const old = join(this.#dir, `${OLD}${randomUUID()}`)
    try {
      await rename(path, old)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false
      throw error
    }
    if (await isNeeded(old)) {
      const isBack = await rename(old, path).then(
        () => true,
        () => false,
      )
      if (isBack) return false
    }
    const remove = () => rm(old, { recursive: true, force: true })
    // A pass of `tidy` comes for what this leaves.
    this.#removal = this.#removal.then(remove).catch(() => undefined)
    return true
  }
}

const isUnfinished = (name: string): boolean => name.startsWith(FRESH) || name.startsWith(OLD)
const isRecent = (usedAt: number): boolean => usedAt > Date.now() - RECENT_MS
const sum = (entries: readonly Entry[]): number => entries.reduce((total, { bytes }) => total + bytes, 0)

/** @returns milliseconds since the epoch; 0 if it is gone */
const lastUse = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )

/** This share of a file system's inodes stays free for everything else. */
const SPARE_INODES = 0.05

async function freeRoom(directory: string): Promise<FreeRoom> {
  const { bavail, bsize, ffree, files } = await statfs(directory)
  return { bytes: bavail * bsize, inodes: files === 0 ? Number.POSITIVE_INFINITY : ffree - files * SPARE_INODES }
}

/**
 * An entry may take all that it reserves, and the database and the disks of the sandboxes often grow on the same file system.
 * So a host with less free refuses it, although it might take less: a full disk would fail those.
 */
const fits = (needed: FreeRoom, free: FreeRoom): boolean => needed.bytes <= free.bytes && needed.inodes <= free.inodes
