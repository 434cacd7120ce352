import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'

export interface JournalFileOptions {
  /** Forgotten bytes below this are not worth the copying that gives their space back. */
  readonly minReclaimedBytes?: number
  /** What it does to its descriptor. */
  readonly write?: (fd: number, bytes: Buffer, offset: number, length: number, at: number) => number
  readonly truncate?: (fd: number, length: number) => void
}

const MIN_RECLAIMED_BYTES = 8 * 1024 * 1024
const COPY_BYTES = 1024 * 1024

/**
 * A file that grows at its end and forgets its beginning. Offsets count from the first byte that was ever written and
 * never change; only where in the file they lie does.
 *
 * Space is given back by moving what is kept to the file's beginning, once what was forgotten is no less: so the two do
 * not overlap, the file is at most twice what is kept and a little, and a byte is moved once for each that was
 * forgotten. Until the move is whole the kept bytes are read where they were; one that fails leaves all as it was.
 *
 * The descriptor must not be in append mode: the kernel would write everything at the end.
 */
export class JournalFile {
  readonly #fd: number
  readonly #options: Required<JournalFileOptions>
  /** Offset of the file's first byte. */
  #base = 0
  #start = 0
  #end: number

  constructor(fd: number, options: JournalFileOptions = {}) {
    this.#fd = fd
    this.#options = { minReclaimedBytes: MIN_RECLAIMED_BYTES, write: writeSync, truncate: ftruncateSync, ...options }
    this.#end = fstatSync(fd).size
  }

  /** The first offset that can be read. */
  get start(): number {
    return this.#start
  }

  /** The offset behind the last byte. */
  get end(): number {
    return this.#end
  }

  /** Bytes that the file has on disk. */
  get fileBytes(): number {
    return this.#end - this.#base
  }

  /** Adds all of it or, where this throws, nothing. */
  append(bytes: Buffer): void {
    const at = this.fileBytes
    try {
      this.#write(bytes, at)
    } catch (error) {
      this.#cut(at)
      throw error
    }
    this.#end += bytes.length
  }

  /** Reads from an offset that is still there. @returns fewer bytes than the buffer holds only at the end */
  read(offset: number, into: Buffer): Buffer {
    const length = Math.min(into.length, this.#end - offset)
    return into.subarray(0, readSync(this.#fd, into, 0, length, offset - this.#base))
  }

  /** Forgets what lies before an offset. */
  forget(offset: number): void {
    this.#start = Math.min(Math.max(this.#start, offset), this.#end)
    const forgotten = this.#start - this.#base
    const kept = this.#end - this.#start
    if (forgotten < this.#options.minReclaimedBytes || forgotten < kept) return
    try {
      this.#moveToFront(forgotten, kept)
    } catch {
      // Tried again with the next word of what can be forgotten.
      return
    }
    this.#base = this.#start
    this.#cut(kept)
  }

  #moveToFront(from: number, length: number): void {
    const buffer = Buffer.allocUnsafeSlow(Math.min(COPY_BYTES, length))
    for (let moved = 0; moved < length; ) {
      const got = readSync(this.#fd, buffer, 0, Math.min(buffer.length, length - moved), from + moved)
      if (got === 0) throw new Error('the journal is shorter than was written')
      this.#write(buffer.subarray(0, got), moved)
      moved += got
    }
  }

  #write(bytes: Buffer, at: number): void {
    for (let done = 0; done < bytes.length; ) {
      done += this.#options.write(this.#fd, bytes, done, bytes.length - done, at + done)
    }
  }

  /** What lies behind the last byte is never read, so it does no harm where it cannot be cut off. */
  #cut(fileBytes: number): void {
    try {
      this.#options.truncate(this.#fd, fileBytes)
    } catch {
      // As said above; the next writes go over it.
    }
  }
}
