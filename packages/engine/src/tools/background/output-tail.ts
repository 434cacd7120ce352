/** Output that is kept, in bytes: the last. */
const MAX_KEPT = 1024 * 1024
const BLOCK = 64 * 1024

/** The last bytes of an output, in blocks: a program that writes single bytes costs no more memory than another. */
export class OutputTail {
  #blocks: Buffer[] = []
  /** Bytes of the last block that are in use; the others are full. */
  #filled = 0
  #written = 0

  /** Bytes that were added in all. */
  get written(): number {
    return this.#written
  }

  /** The place of the first byte that is kept. */
  get first(): number {
    return this.#written - this.#kept
  }

  get #kept(): number {
    return this.#blocks.length === 0 ? 0 : (this.#blocks.length - 1) * BLOCK + this.#filled
  }

  add(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0; ) {
      let block = this.#blocks.at(-1)
      if (block === undefined || this.#filled === BLOCK) {
        block = Buffer.allocUnsafe(BLOCK)
        this.#blocks.push(block)
        this.#filled = 0
      }
      const copied = rest.copy(block, this.#filled)
      this.#filled += copied
      this.#written += copied
      rest = rest.subarray(copied)
    }
    while (this.#kept - BLOCK >= MAX_KEPT) this.#blocks.shift()
  }

  /** Returns what is kept from a place on. */
  from(place: number): Buffer {
    const kept = Buffer.concat(this.#blocks).subarray(0, this.#kept)
    return kept.subarray(Math.max(0, place - this.first))
  }

  /** Keeps nothing any more. */
  clear(): void {
    this.#blocks = []
    this.#filled = 0
  }
}
