import { createHash, randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { makeDirectory } from '../../kit/make-directory.ts'
import { syncDirectory } from '../sync-directory.ts'
import {
  type AsideEntry,
  type BlobEntry,
  BlobMissing,
  type BlobRef,
  type IdentifiedBlobs,
  identityName,
  requireSha256,
  StorageFull,
} from './blobs.ts'
import { verified } from './verified.ts'

const temporaryName = 'tmp'
const asideName = 'aside'
const staleAfterMs = 24 * 60 * 60 * 1000

/**
 * Blobs as files in one directory, `ab/cdef…`, which any number of processes may share. A put writes and syncs the
 * whole file before it renames the file into place. The modification time is the time of the last put. Blobs that are
 * set aside lie below `aside`; the rename that moved a blob there is the last change of its inode.
 */
export class FileBlobs implements IdentifiedBlobs {
  readonly #directory: string
  readonly #temporary: string
  readonly #aside: string

  /** Opens a store: makes the directory if it is missing and removes the remains of crashed puts. */
  static async open(directory: string): Promise<FileBlobs> {
    const blobs = new FileBlobs(resolve(directory))
    await makeDirectory(blobs.#temporary)
    await removeStale(blobs.#temporary)
    return blobs
  }

  private constructor(directory: string) {
    this.#directory = directory
    this.#temporary = join(directory, temporaryName)
    this.#aside = join(directory, asideName)
  }

  async put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const temporary = join(this.#temporary, randomUUID())
    try {
      const blob = await writeWhole(temporary, content)
      await this.#publish(temporary, blob.sha256)
      return blob
    } catch (error) {
      await rm(temporary, { force: true })
      throw isFull(error) ? new StorageFull(error) : error
    }
  }

  async get(sha256: string): Promise<Readable> {
    const handle = await this.#find(sha256, path => open(path).catch(ignoreMissing))
    if (handle === undefined) throw new BlobMissing(sha256)
    const content: AsyncIterable<Buffer> = handle.createReadStream()
    // If the stream is destroyed before its first read, the generator never runs and so closes nothing.
    return Readable.from(verified(content, sha256), { objectMode: false }).once('close', () => void handle.close())
  }

  async stat(sha256: string): Promise<BlobRef | undefined> {
    const found = await this.#find(sha256, statExisting)
    return found && { sha256, sizeBytes: found.size }
  }

  async has(sha256: string, sizeBytes?: number): Promise<boolean> {
    const found = await statExisting(this.#path(sha256))
    return found !== undefined && (sizeBytes === undefined || found.size === sizeBytes)
  }

  async delete(sha256: string): Promise<void> {
    await rm(this.#path(sha256), { force: true })
    await rm(this.#asidePath(sha256), { force: true })
  }

  async identity(): Promise<string | undefined> {
    const text = await readFile(join(this.#directory, identityName), 'utf8').catch(ignoreMissing)
    return text?.trim()
  }

  /** Writes the identity beside its place and links it there; the link fails if another process was first. */
  async identify(identity: string): Promise<void> {
    const temporary = join(this.#temporary, randomUUID())
    try {
      await writeWhole(temporary, Buffer.from(`${identity}\n`))
      await link(temporary, join(this.#directory, identityName)).catch(error => {
        if (codeOf(error) !== 'EEXIST') throw error
      })
      await syncDirectory(this.#directory)
    } finally {
      await rm(temporary, { force: true })
    }
  }

  async *list(): AsyncIterable<BlobEntry> {
    for await (const [sha256, { size, mtime }] of filesBelow(this.#directory)) {
      yield { sha256, sizeBytes: size, putAt: mtime }
    }
  }

  /** One rename: readers always find the blob in one of the two places, and a put that came before it moves along. */
  async setAside(sha256: string): Promise<void> {
    const aside = this.#asidePath(sha256)
    await mkdir(dirname(aside), { recursive: true, mode: 0o700 })
    await rename(this.#path(sha256), aside).catch(ignoreMissing)
  }

  async *listAside(): AsyncIterable<AsideEntry> {
    for await (const [sha256, { size, ctime }] of filesBelow(this.#aside)) {
      yield { sha256, sizeBytes: size, asideAt: ctime }
    }
  }

  async bringBack(sha256: string): Promise<void> {
    const path = this.#path(sha256)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    try {
      await link(this.#asidePath(sha256), path)
      await syncDirectory(dirname(path))
    } catch (error) {
      if (isMissing(error)) return
      if (codeOf(error) !== 'EEXIST') throw error
    }
    await this.discard(sha256)
  }

  async discard(sha256: string): Promise<void> {
    await rm(this.#asidePath(sha256), { force: true })
  }

  /** Looks in both places, then in the first again: a sweep may bring the blob back between two looks. */
  async #find<T>(sha256: string, read: (path: string) => Promise<T | undefined>): Promise<T | undefined> {
    const path = this.#path(sha256)
    return (await read(path)) ?? (await read(this.#asidePath(sha256))) ?? (await read(path))
  }

  #path(sha256: string): string {
    return fanOut(this.#directory, sha256)
  }

  #asidePath(sha256: string): string {
    return fanOut(this.#aside, sha256)
  }

  /** Renames even over an existing blob: that renews its times and repairs a corrupt one. */
  async #publish(temporary: string, sha256: string): Promise<void> {
    const fan = join(this.#directory, sha256.slice(0, 2))
    if ((await mkdir(fan, { recursive: true, mode: 0o700 })) !== undefined) await syncDirectory(this.#directory)
    await rename(temporary, this.#path(sha256))
    await syncDirectory(fan)
  }
}

async function writeWhole(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<BlobRef> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  const handle = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of content instanceof Uint8Array ? [content] : content) {
      hash.update(chunk)
      sizeBytes += chunk.length
      await handle.writeFile(chunk)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return { sha256: hash.digest('hex'), sizeBytes }
}

function fanOut(directory: string, sha256: string): string {
  requireSha256(sha256)
  return join(directory, sha256.slice(0, 2), sha256.slice(2))
}

async function statExisting(path: string): Promise<Stats | undefined> {
  return stat(path).catch(ignoreMissing)
}

/** Yields digest and state of every blob below a directory, one subdirectory (a 256th) at a time. */
async function* filesBelow(directory: string): AsyncGenerator<[sha256: string, Stats]> {
  for (const fan of (await readdir(directory).catch(ignoreMissing)) ?? []) {
    if (!/^[0-9a-f]{2}$/.test(fan)) continue
    for (const rest of await readdir(join(directory, fan))) {
      const found = await statExisting(join(directory, fan, rest))
      if (found !== undefined) yield [fan + rest, found]
    }
  }
}

async function removeStale(directory: string): Promise<void> {
  const now = Date.now()
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now - found.mtimeMs > staleAfterMs) await rm(path, { force: true })
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

function isFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
}
