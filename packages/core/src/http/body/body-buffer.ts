const firstBytes = 64 * 1024

/**
 * Collects a body's chunks in one buffer that doubles as needed. A list would cost some 200 bytes for each chunk, and a
 * client may send single bytes. A buffer of the announced size would let any client reserve memory by announcing it.
 */
export class BodyBuffer {
  readonly #mostBytes: number
  #buffer: Buffer = Buffer.alloc(0)
  #length = 0

  /** @param mostBytes upper limit of the body's length */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Bytes collected so far. */
  get length(): number {
    return this.#length
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    // Most small bodies arrive in one chunk.
    if (this.#length === 0 && length === this.#mostBytes) this.#buffer = chunk
    else {
      if (length > this.#buffer.length) this.#grow(length)
      chunk.copy(this.#buffer, this.#length)
    }
    this.#length = length
  }

  /** Returns the body and empties the buffer. */
  take(): Buffer {
    const body = this.#buffer.subarray(0, this.#length)
    this.#buffer = Buffer.alloc(0)
    this.#length = 0
    return body
  }

  #grow(length: number): void {
    const doubled = Math.min(this.#mostBytes, Math.max(firstBytes, this.#buffer.length * 2))
    const grown = Buffer.allocUnsafeSlow(Math.max(length, doubled))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
