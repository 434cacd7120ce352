import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import {
  BlobCorrupt,
  type BlobEntry,
  BlobMissing,
  type BlobRef,
  type Blobs,
  requireSha256,
  StorageFull,
} from './blobs.ts'

const temporaryName = 'tmp'
const staleAfterMs = 24 * 60 * 60 * 1000

/**
 * Blobs as files of one directory, `ab/cdef…`, which any number of processes may share. A file appears by a rename once
 * it is whole and on the disk; its times are those of its last put.
 */
export class FileBlobs implements Blobs {
  readonly #directory: string
  readonly #temporary: string

  /** Makes the directory where it is missing and clears what crashed puts left in it. */
  static async open(directory: string): Promise<FileBlobs> {
    const blobs = new FileBlobs(resolve(directory))
    await mkdir(blobs.#temporary, { recursive: true, mode: 0o700 })
    await removeStale(blobs.#temporary)
    return blobs
  }

  private constructor(directory: string) {
    this.#directory = directory
    this.#temporary = join(directory, temporaryName)
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
    const handle = await open(this.#path(sha256)).catch(error => {
      throw isMissing(error) ? new BlobMissing(sha256) : error
    })
    // The generator does not run, and so closes nothing, when the stream is destroyed before its first read.
    return Readable.from(verified(handle, sha256), { objectMode: false }).once('close', () => void handle.close())
  }

  async stat(sha256: string): Promise<BlobRef | undefined> {
    try {
      return { sha256, sizeBytes: (await stat(this.#path(sha256))).size }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async has(sha256: string): Promise<boolean> {
    return (await this.stat(sha256)) !== undefined
  }

  async delete(sha256: string): Promise<void> {
    await rm(this.#path(sha256), { force: true })
  }

  async *list(): AsyncIterable<BlobEntry> {
    for (const fan of await readdir(this.#directory)) {
      if (!/^[0-9a-f]{2}$/.test(fan)) continue
      for (const rest of await readdir(join(this.#directory, fan))) {
        const found = await stat(join(this.#directory, fan, rest)).catch(() => undefined)
        if (found !== undefined) yield { sha256: fan + rest, sizeBytes: found.size, putAt: found.mtime }
      }
    }
  }

  #path(sha256: string): string {
    requireSha256(sha256)
    return join(this.#directory, sha256.slice(0, 2), sha256.slice(2))
  }

  /** Renames even over a blob that is there: that renews its times, and mends one that rotted. */
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

async function* verified(handle: FileHandle, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const stream: AsyncIterable<Buffer> = handle.createReadStream()
  for await (const chunk of stream) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256) throw new BlobCorrupt(sha256)
}

async function removeStale(directory: string): Promise<void> {
  const now = Date.now()
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now - found.mtimeMs > staleAfterMs) await rm(path, { force: true })
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

function isFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
}
