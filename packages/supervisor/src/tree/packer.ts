import { hash } from 'node:crypto'
import { writeFrame } from './frames.ts'
import { chunkBytes, frameTypes, packBytes } from './protocol.ts'
import type { ChunkRef } from './record.ts'
import { zstd } from './zstd.ts'

/** Buffers of content: one is being filled, the others compressed. */
const BUFFERS = 3

/** A chunk of a hole. */
const zeroes = Buffer.alloc(chunkBytes)
const digestOfZeroes = hash('sha256', zeroes, 'binary')

/** Computes a digest. Holes are long, and comparing a chunk with zeroes takes a twentieth of the time of its digest. */
function digestOf(content: Buffer): string {
  if (content.length === chunkBytes && content.equals(zeroes)) return digestOfZeroes
  return hash('sha256', content, 'binary')
}

/**
 * Gathers chunks into packs and sends each compressed. While the thread pool compresses, the caller continues reading.
 * If all buffers are in use it waits, so memory is bounded whatever the tree contains.
 */
export class Packer {
  readonly #out: number
  readonly #level: number
  readonly #added = new Map<string, ChunkRef>()
  readonly #free: Buffer[] = Array.from({ length: BUFFERS - 1 }, () => Buffer.allocUnsafeSlow(packBytes))
  readonly #underWay = new Set<Promise<void>>()
  #buffer: Buffer = Buffer.allocUnsafeSlow(packBytes)
  #used = 0
  #pack: number
  #failure: unknown

  /** @param out descriptor for frames @param nextPack the first unused pack id */
  constructor(out: number, level: number, nextPack: number) {
    this.#out = out
    this.#level = level
    this.#pack = nextPack
  }

  /** Waits, if necessary, until a chunk of this length fits; returns undefined if it fits already. */
  makeRoom(length: number): Promise<void> | undefined {
    return this.#used + length > packBytes ? this.#flush() : undefined
  }

  /** Buffer space for the next chunk, to be filled before `take`; `makeRoom` has made it large enough. */
  get room(): Buffer {
    return this.#buffer.subarray(this.#used)
  }

  /**
   * Takes the first `length` bytes of the room as a chunk. Content that is stored already takes no space.
   *
   * @param stored finds a chunk among those stored earlier
   */
  take(length: number, stored: (sha256: string) => ChunkRef | undefined): ChunkRef {
    const content = this.#buffer.subarray(this.#used, this.#used + length)
    const sha256 = digestOf(content)
    const known = this.#added.get(sha256) ?? stored(sha256)
    if (known !== undefined && known.length === length) return known
    const chunk = { pack: this.#pack, offset: this.#used, length, sha256 }
    this.#added.set(sha256, chunk)
    this.#used += length
    return chunk
  }

  /** Sends the rest, and waits until every pack is sent. */
  async end(): Promise<void> {
    if (this.#used > 0) await this.#flush()
    await Promise.all(this.#underWay)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #flush(): Promise<void> {
    const buffer = this.#buffer
    const sending = this.#send(this.#pack, buffer.subarray(0, this.#used))
      .catch((error: unknown) => {
        this.#failure ??= error
      })
      .finally(() => {
        this.#free.push(buffer)
        this.#underWay.delete(sending)
      })
    this.#underWay.add(sending)
    while (this.#free.length === 0) await Promise.race(this.#underWay)
    if (this.#failure !== undefined) throw this.#failure
    this.#buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(packBytes)
    this.#used = 0
    this.#pack++
  }

  async #send(pack: number, content: Buffer): Promise<void> {
    const compressed = await zstd(content, this.#level)
    const head = Buffer.alloc(8)
    head.writeUInt32LE(pack, 0)
    head.writeUInt32LE(content.length, 4)
    writeFrame(this.#out, frameTypes.pack, head, compressed)
  }
}
