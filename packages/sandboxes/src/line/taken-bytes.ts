import type { Duplex } from 'node:stream'

/**
 * Counts how much of what is written to a stream the other side has taken. Sizes of buffers do not tell: at a steady pace
 * they are the same at each look.
 */
export class TakenBytes {
  readonly #stream: Duplex
  #written: number
  #seen = 0
  /** Whether the caller had nothing to give at some moment since the last look, and then gave. */
  #resumed = false

  /** @param stream of which nothing was taken yet */
  constructor(stream: Duplex) {
    this.#stream = stream
    this.#written = stream.writableLength
    for (const method of ['write', 'end'] as const) {
      const own = stream[method].bind(stream) as (...args: unknown[]) => unknown
      const counted = (chunk: unknown, ...rest: unknown[]) => {
        if (!this.#isHeldUp) this.#resumed = true
        if (typeof chunk === 'string') this.#written += Buffer.byteLength(chunk)
        else if (chunk instanceof Uint8Array) this.#written += chunk.byteLength
        return own(chunk, ...rest)
      }
      Object.defineProperty(stream, method, { value: counted, configurable: true, writable: true })
    }
  }

  /** Whether it is the other side's turn: bytes wait for it, or it has them all. */
  get #isHeldUp(): boolean {
    return this.#stream.writableLength > 0 || this.#stream.writableEnded
  }

  /** Returns true unless the other side alone has held things up ever since the last look. */
  moved(): boolean {
    const taken = this.#written - this.#stream.writableLength
    const isMore = taken > this.#seen || this.#resumed
    this.#seen = taken
    this.#resumed = false
    return isMore || !this.#isHeldUp
  }
}
