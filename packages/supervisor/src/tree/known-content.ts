import type { Baseline } from './baseline.ts'
import { CHUNK_BYTES, type ChunkRef, kinds, readChunk, readHead, SIZE_BYTES } from './record.ts'

/** Content that the previous checkpoint has, in packs that are kept. */
export class KnownContent {
  readonly #baseline: Baseline | undefined
  readonly #usable: ReadonlySet<number>
  #chunks: Map<string, ChunkRef> | undefined

  constructor(baseline: Baseline | undefined, usable: ReadonlySet<number>) {
    this.#baseline = baseline
    this.#usable = usable
  }

  isUsable(pack: number): boolean {
    return this.#usable.has(pack)
  }

  find(sha256: string): ChunkRef | undefined {
    this.#chunks ??= this.#read()
    return this.#chunks.get(sha256)
  }

  #read(): Map<string, ChunkRef> {
    const chunks = new Map<string, ChunkRef>()
    const index = this.#baseline?.index ?? Buffer.alloc(0)
    for (let at = 0, head = readHead(index, at); head !== undefined; at = head.end, head = readHead(index, at)) {
      if (head.kind !== kinds.file) continue
      for (let next = head.tailAt + SIZE_BYTES; next < head.end; next += CHUNK_BYTES) {
        const chunk = readChunk(index, next)
        if (this.#usable.has(chunk.pack)) chunks.set(chunk.sha256, chunk)
      }
    }
    return chunks
  }
}
