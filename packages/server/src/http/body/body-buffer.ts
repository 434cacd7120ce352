const firstBytes = 64 * 1024

/**
 * Gathers a body's chunks into one buffer that doubles as they come. A list of chunks would cost some 200 bytes for each,
 * and a client may send them a byte at a time; one buffer of the announced size would be there for whoever announces.
 */
export class BodyBuffer {
  readonly #mostBytes: number
  #buffer: Buffer = Buffer.alloc(0)
  #length = 0

  /** @param mostBytes no body is longer */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Bytes gathered so far. */
  get length(): number {
    return this.#length
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    // The usual small body comes in one piece.
    if (this.#length === 0 && length === this.#mostBytes) this.#buffer = chunk
    else {
      if (length > this.#buffer.length) this.#grow(length)
      chunk.copy(this.#buffer, this.#length)
    }
    this.#length = length
  }

  /** Gives the body away; nothing is left here. */
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
