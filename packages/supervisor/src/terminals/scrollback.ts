const NEWLINE = 0x0a
/** Takes back colours and styles that a lost beginning may have set. */
const PLAIN = Buffer.from('\x1b[0m')

/** The last output of a terminal. It never holds more than `maxBytes` and one chunk. */
export class Scrollback {
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #bytes = 0
  #isCut = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(chunk: Buffer): void {
    // A copy: Node hands out slices of larger buffers, which would stay in memory whole.
    this.#chunks.push(Buffer.from(chunk.subarray(-this.#maxBytes)))
    this.#bytes += Math.min(chunk.length, this.#maxBytes)
    if (chunk.length > this.#maxBytes) this.#isCut = true
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) >= this.#maxBytes) {
      this.#bytes -= this.#chunks.shift()?.length ?? 0
      this.#isCut = true
    }
  }

  /** Returns what a new reader is shown; from the beginning of a line on if older output is lost. */
  read(): Buffer {
    const all = Buffer.concat(this.#chunks)
    const kept = all.subarray(-this.#maxBytes)
    if (!this.#isCut && kept.length === all.length) return kept
    return Buffer.concat([PLAIN, kept.subarray(kept.indexOf(NEWLINE) + 1)])
  }
}
