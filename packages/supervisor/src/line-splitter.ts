const NEWLINE = 0x0a

/** Receives a line without its newline; if `totalBytes` exceeds `bytes.length`, `bytes` is only its beginning. */
export type LineSink = (bytes: Buffer, totalBytes: number) => void

/**
 * Cuts a byte stream into lines. It keeps at most `maxBytes` of a line, however long it is, and never decodes, because
 * an agent may write bytes that are not UTF-8.
 */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #sink: LineSink
  #parts: Buffer[] = []
  #keptBytes = 0
  #totalBytes = 0

  constructor(maxBytes: number, sink: LineSink) {
    this.#maxBytes = maxBytes
    this.#sink = sink
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, newline))
      this.#emit()
      start = newline + 1
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  /** Ends the stream; the rest is a last line without a newline. */
  end(): void {
    if (this.#totalBytes > 0) this.#emit()
  }

  #hold(bytes: Buffer): void {
    this.#totalBytes += bytes.length
    const room = this.#maxBytes - this.#keptBytes
    if (room <= 0) return
    const kept = bytes.length > room ? bytes.subarray(0, room) : bytes
    this.#parts.push(kept)
    this.#keptBytes += kept.length
  }

  #emit(): void {
    const [only = Buffer.alloc(0)] = this.#parts
    const line = this.#parts.length <= 1 ? only : Buffer.concat(this.#parts, this.#keptBytes)
    const totalBytes = this.#totalBytes
    this.#parts = []
    this.#keptBytes = 0
    this.#totalBytes = 0
    this.#sink(line, totalBytes)
  }
}
