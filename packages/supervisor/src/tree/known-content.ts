import type { Baseline, Known } from './baseline.ts'
import { CHUNK_BYTES, type ChunkRef, chunksAt, kinds, packAt, readChunk, readHead, SIZE_BYTES } from './record.ts'

/** Unknown bytes above which listing all known chunks pays off; the list costs as much as a small seal. */
const WORTH_LISTING_BYTES = 4 * 1024 * 1024

/** Content of the previous checkpoint in packs that are kept. */
export class KnownContent {
  readonly #baseline: Baseline | undefined
  readonly #usable: ReadonlySet<number>
  #missedBytes = 0
  #all: Map<string, ChunkRef> | undefined

  constructor(baseline: Baseline | undefined, usable: ReadonlySet<number>) {
    this.#baseline = baseline
    this.#usable = usable
  }

  /** Returns true if all content of a file lies in packs that are kept. */
  isKept(file: Pick<Known, 'start' | 'end'>): boolean {
    if (this.#baseline === undefined) return false
    const { index } = this.#baseline
    for (let at = chunksAt(index, file.start); at < file.end; at += CHUNK_BYTES) {
      if (!this.#usable.has(packAt(index, at))) return false
    }
    return true
  }

  /** Returns the chunks of a file that are kept. */
  of(file: Known): Map<string, ChunkRef> {
    const index = this.#baseline?.index
    return index === undefined ? new Map() : this.#collect(new Map(), chunksAt(index, file.start), file.end)
  }

  /** Finds a chunk of any file. It finds nothing until enough bytes were unknown to make the list worthwhile. */
  find(sha256: string, bytes: number): ChunkRef | undefined {
    if (this.#baseline === undefined) return undefined
    this.#missedBytes += bytes
    if (this.#missedBytes < WORTH_LISTING_BYTES) return undefined
    this.#all ??= this.#list(this.#baseline.index)
    return this.#all.get(sha256)
  }

  #list(index: Buffer): Map<string, ChunkRef> {
    const chunks = new Map<string, ChunkRef>()
    for (let at = 0, head = readHead(index, at); head !== undefined; at = head.end, head = readHead(index, at)) {
      if (head.kind === kinds.file) this.#collect(chunks, head.tailAt + SIZE_BYTES, head.end)
    }
    return chunks
  }

  #collect(into: Map<string, ChunkRef>, start: number, end: number): Map<string, ChunkRef> {
    for (let at = start; at < end; at += CHUNK_BYTES) {
      const chunk = readChunk(this.#baseline?.index ?? Buffer.alloc(0), at)
      if (this.#usable.has(chunk.pack)) into.set(chunk.sha256, chunk)
    }
    return into
  }
}
