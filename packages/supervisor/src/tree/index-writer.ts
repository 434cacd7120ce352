import type { Stats } from 'node:fs'
import { segmentBytes, TreeError } from './protocol.ts'
import {
  CHUNK_BYTES,
  type ChunkRef,
  endOf,
  HEAD_BYTES,
  kinds,
  SIZE_BYTES,
  tailOf,
  writeChunk,
  writeHead,
} from './record.ts'

/** One segment of an index, by its positions. */
export interface Segment {
  readonly start: number
  readonly end: number
}

/** Values that stay the same as long as a file is unchanged; `undefined` matches nothing. */
export type Identity = Pick<Stats, 'ino' | 'mtimeMs' | 'ctimeMs'> | undefined

/** Doubles that an identity takes. */
export const IDENTITY_DOUBLES = 3

const MEAN_ENTRIES = 4096
const MIN_ENTRIES = 1024

/**
 * An index that grows in memory. The hash of an entry's own path decides if a segment ends before it, so adding or
 * removing a file leaves the segments before and after unchanged.
 */
export class IndexWriter {
  readonly #maxBytes: number
  readonly #onSegment: (content: Buffer) => void
  #pending: { readonly index: Buffer; readonly start: number; end: number; readonly at: number } | undefined
  #bytes = Buffer.allocUnsafeSlow(1024 * 1024)
  #identities = new Float64Array(4096 * IDENTITY_DOUBLES)
  #segments: Segment[] = []
  #length = 0
  #entries = 0
  #segmentStart = 0
  #segmentEntries = 0

  /** @param onSegment called with each segment as soon as it is complete; its bytes do not change any more */
  constructor(maxBytes: number, onSegment: (content: Buffer) => void) {
    this.#maxBytes = maxBytes
    this.#onSegment = onSegment
  }

  get bytes(): Buffer {
    this.#settle()
    return this.#bytes.subarray(0, this.#length)
  }

  get identities(): Float64Array {
    return this.#identities.subarray(0, this.#entries * IDENTITY_DOUBLES)
  }

  /** Returns the segments; call it once, after the last entry. */
  segments(): readonly Segment[] {
    this.#cut()
    return this.#segments
  }

  /** Number of entries so far, which is the ordinal of the next one. */
  get entries(): number {
    return this.#entries
  }

  directory(path: string, mode: number, mtimeUs: number, identity: Identity): void {
    this.#head(kinds.directory, path, mode, mtimeUs, 0, identity)
  }

  symlink(path: string, mtimeUs: number, target: string, identity: Identity): void {
    const at = this.#head(kinds.symlink, path, 0, mtimeUs, target.length, identity)
    this.#bytes.write(target, at, 'latin1')
  }

  hardLink(path: string, target: string): void {
    const at = this.#head(kinds.hardLink, path, 0, 0, target.length, undefined)
    this.#bytes.write(target, at, 'latin1')
  }

  file(
    path: string,
    file: { mode: number; mtimeUs: number; size: number; chunks: readonly ChunkRef[]; identity: Identity },
  ): void {
    const tailBytes = SIZE_BYTES + file.chunks.length * CHUNK_BYTES
    let at = this.#head(kinds.file, path, file.mode, file.mtimeUs, tailBytes, file.identity)
    this.#bytes.writeDoubleLE(file.size, at)
    at += SIZE_BYTES
    for (const chunk of file.chunks) {
      writeChunk(this.#bytes, at, chunk)
      at += CHUNK_BYTES
    }
  }

  /** Clears an entry's identity. */
  forget(entry: number): void {
    this.#identities.fill(Number.NaN, entry * IDENTITY_DOUBLES, (entry + 1) * IDENTITY_DOUBLES)
  }

  /** Copies an entry from an index that lives as long as this one; pass the same index in every call. */
  copy(path: string, index: Buffer, start: number, end: number, identity: Identity): void {
    this.#copied(this.#room(path, end - start, identity), index, start, end)
  }

  #copied(at: number, index: Buffer, start: number, end: number): void {
    const pending = this.#pending
    if (pending?.end === start) {
      pending.end = end
      return
    }
    this.#settle()
    this.#pending = { index, start, end, at }
  }

  /** Copies adjacent entries as `copy` does. @param identities of all of them */
  copyAll(index: Buffer, start: number, end: number, identities: Float64Array): void {
    const first = this.#entries * IDENTITY_DOUBLES
    for (let at = start; at < end; ) {
      const next = endOf(index, at)
      const tail = tailOf(index, at)
      const name = index.subarray(Math.max(at + HEAD_BYTES, tail - HASHED_CHARACTERS), tail)
      this.#copied(this.#room(name, next - at, undefined), index, at, next)
      at = next
    }
    this.#identities.set(identities, first)
  }

  /** Copies adjacent entries in one piece, once a different one follows. */
  #settle(): void {
    const pending = this.#pending
    this.#pending = undefined
    pending?.index.copy(this.#bytes, pending.at, pending.start, pending.end)
  }

  #head(kind: number, path: string, mode: number, mtimeUs: number, tailBytes: number, identity: Identity): number {
    this.#settle()
    const at = this.#room(path, HEAD_BYTES + path.length + tailBytes, identity)
    return writeHead(this.#bytes, at, { kind, mode, mtimeUs, path, tailBytes })
  }

  #room(path: string | Buffer, bytes: number, identity: Identity): number {
    const inSegment = this.#length - this.#segmentStart
    if (
      inSegment + bytes > segmentBytes ||
      (this.#segmentEntries >= MIN_ENTRIES && hash(path) % (MEAN_ENTRIES - MIN_ENTRIES) === 0)
    ) {
      this.#cut()
    }
    const at = this.#length
    this.#length += bytes
    if (this.#length > this.#maxBytes || bytes > segmentBytes) {
      throw new TreeError({ code: 'over_limit', limit: 'index', atLeast: this.#length })
    }
    if (this.#length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#length, this.#bytes.length * 2))
      this.#bytes.copy(grown, 0, 0, at)
      this.#bytes = grown
    }
    this.#identify(identity)
    this.#entries++
    this.#segmentEntries++
    return at
  }

  #identify(identity: Identity): void {
    const at = this.#entries * IDENTITY_DOUBLES
    if (at === this.#identities.length) {
      const grown = new Float64Array(at * 2)
      grown.set(this.#identities)
      this.#identities = grown
    }
    this.#identities[at] = identity?.ino ?? Number.NaN
    this.#identities[at + 1] = identity?.mtimeMs ?? Number.NaN
    this.#identities[at + 2] = identity?.ctimeMs ?? Number.NaN
  }

  #cut(): void {
    if (this.#length === this.#segmentStart) return
    this.#settle()
    this.#onSegment(this.#bytes.subarray(this.#segmentStart, this.#length))
    this.#segments.push({ start: this.#segmentStart, end: this.#length })
    this.#segmentStart = this.#length
    this.#segmentEntries = 0
  }
}

const HASHED_CHARACTERS = 16

/** FNV-1a of the path's end; any fixed hash would do. */
function hash(text: string | Buffer): number {
  let value = 0x811c9dc5
  for (let at = Math.max(0, text.length - HASHED_CHARACTERS); at < text.length; at++)
    value = Math.imul(value ^ (typeof text === 'string' ? text.charCodeAt(at) : (text[at] ?? 0)), 0x01000193)
  return value >>> 0
}
