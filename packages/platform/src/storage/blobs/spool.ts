import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobRef } from './blobs.ts'

/** Limits for content that is spooled. */
export interface SpoolOptions {
  /** Keeps content up to this size in memory. */
  readonly memoryBytes: number
  readonly maxBytes: number
  /** Directory for larger content. Its file has no name, so not even a crash leaves it behind. */
  readonly directory: string
}

/** Content with a known digest and size that can be read more than once. */
export interface Spooled extends BlobRef, AsyncDisposable {
  /** Reads at most `length` bytes from `position` on; returns fewer only at the end. */
  read(position: number, length: number): Promise<Uint8Array>
}

/** The content is larger than the store takes. */
export class BlobTooLarge extends Error {
  override readonly name = 'BlobTooLarge'
}

/**
 * Reads content to its end. If the source fails, nothing remains.
 * @throws BlobTooLarge
 */
export async function spool(content: Uint8Array | AsyncIterable<Uint8Array>, options: SpoolOptions): Promise<Spooled> {
  if (content instanceof Uint8Array) {
    requireSize(content.length, options)
    return held(content, createHash('sha256').update(content).digest('hex'))
  }
  const hash = createHash('sha256')
  let chunks: Buffer[] = []
  let sizeBytes = 0
  let file: FileHandle | undefined
  try {
    for await (const chunk of content) {
      sizeBytes += chunk.length
      requireSize(sizeBytes, options)
      hash.update(chunk)
      // The source may reuse its buffer.
      if (file === undefined) chunks.push(Buffer.from(chunk))
      else await file.writeFile(chunk)
      if (file === undefined && sizeBytes > options.memoryBytes) {
        file = await openNameless(options.directory)
        for (const early of chunks) await file.writeFile(early)
        chunks = []
      }
    }
  } catch (error) {
    await file?.close()
    throw error
  }
  const sha256 = hash.digest('hex')
  return file === undefined ? held(Buffer.concat(chunks), sha256) : filed(file, { sha256, sizeBytes })
}

function requireSize(sizeBytes: number, { maxBytes }: SpoolOptions): void {
  if (sizeBytes > maxBytes) throw new BlobTooLarge(`a blob has at most ${maxBytes} bytes`)
}

function held(content: Uint8Array, sha256: string): Spooled {
  return {
    sha256,
    sizeBytes: content.length,
    read: async (position, length) => content.subarray(position, position + length),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function filed(file: FileHandle, blob: BlobRef): Spooled {
  return {
    ...blob,
    async read(position, length) {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, blob.sizeBytes - position)))
      for (let filled = 0; filled < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, position + filled)
        if (bytesRead === 0) throw new Error('a temporary file was cut short')
        filled += bytesRead
      }
      return bytes
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

async function openNameless(directory: string): Promise<FileHandle> {
  const path = join(directory, `.spool-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path)
  return file
}
