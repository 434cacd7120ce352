import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'
import type { Resume } from './protocol.ts'

/** Offsets of a journal's file. */
export type JournalPlace = Pick<Resume, 'base' | 'start' | 'end'>

export interface JournalFileOptions {
  /** Where the file stands, if another process has written it. */
  readonly at?: JournalPlace | undefined
  /** Fewer forgotten bytes than this are not worth the copy that frees their space. */
  readonly minReclaimedBytes?: number
  /** Calls on the descriptor; tests make them fail. */
  readonly write?: (fd: number, bytes: Buffer, offset: number, length: number, at: number) => number
  readonly truncate?: (fd: number, length: number) => void
}

const MIN_RECLAIMED_BYTES = 8 * 1024 * 1024
const COPY_BYTES = 1024 * 1024

/**
 * A file that grows at its end and forgets its beginning. Offsets count from the first byte ever written and never
 * change; only their positions in the file do.
 *
 * It frees space by moving the kept part to the beginning of the file, once the forgotten part is at least as long. So
 * the two do not overlap, the file is at most about twice as long as the kept part, and each forgotten byte costs the
 * move of at most one. Until a move is complete, reads use the old position; a move that fails changes nothing.
 *
 * The descriptor must not be in append mode, because the kernel would then write everything at the end.
 */
export class JournalFile {
  readonly #fd: number
  readonly #options: Required<Omit<JournalFileOptions, 'at'>>
  /** Offset of the file's first byte. */
  #base: number
  #start: number
  #end: number

  /** @throws Error if the file is shorter than it was left */
  constructor(fd: number, { at, ...options }: JournalFileOptions = {}) {
    this.#fd = fd
    this.#options = { minReclaimedBytes: MIN_RECLAIMED_BYTES, write: writeSync, truncate: ftruncateSync, ...options }
    const { size } = fstatSync(fd)
    const { base, start, end } = at ?? { base: 0, start: 0, end: size }
    if (size < end - base) throw new Error('the journal is shorter than it was left')
    this.#base = base
    this.#start = start
    this.#end = end
  }

  /** Where the file stands, for another process that goes on with it. */
  get place(): JournalPlace {
    return { base: this.#base, start: this.#start, end: this.#end }
  }

  /** The first offset that can be read. */
  get start(): number {
    return this.#start
  }

  /** The offset after the last byte. */
  get end(): number {
    return this.#end
  }

  /** Size of the file on disk. */
  get fileBytes(): number {
    return this.#end - this.#base
  }

  /** Appends all bytes, or none if it throws. */
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

  /** Reads from an offset that is still kept. @returns fewer bytes than the buffer holds only at the end */
  read(offset: number, into: Buffer): Buffer {
    const length = Math.min(into.length, this.#end - offset)
    return into.subarray(0, readSync(this.#fd, into, 0, length, offset - this.#base))
  }

  /** Forgets everything before an offset. */
  forget(offset: number): void {
    this.#start = Math.min(Math.max(this.#start, offset), this.#end)
    const forgotten = this.#start - this.#base
    const kept = this.#end - this.#start
    if (forgotten < this.#options.minReclaimedBytes || forgotten < kept) return
    try {
      this.#moveToFront(forgotten, kept)
    } catch {
      // The next call tries again.
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

  /** Truncates the file; if that fails, nothing reads the bytes after the end. */
  #cut(fileBytes: number): void {
    try {
      this.#options.truncate(this.#fd, fileBytes)
    } catch {
      // The next writes overwrite these bytes.
    }
  }
}
