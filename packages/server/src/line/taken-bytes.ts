import type { Duplex } from 'node:stream'

/**
 * Counts how much of what is written to a stream the other side has taken. Sizes of buffers do not tell: at a steady pace
 * they are the same at each look.
 */
export class TakenBytes {
  readonly #stream: Duplex
  #written = 0
  #seen = 0

  /** @param stream to which nothing was written yet */
  constructor(stream: Duplex) {
    this.#stream = stream
    for (const method of ['write', 'end'] as const) {
      const own = stream[method].bind(stream) as (...args: unknown[]) => unknown
      const counted = (chunk: unknown, ...rest: unknown[]) => {
        if (typeof chunk === 'string') this.#written += Buffer.byteLength(chunk)
        else if (chunk instanceof Uint8Array) this.#written += chunk.byteLength
        return own(chunk, ...rest)
      }
      Object.defineProperty(stream, method, { value: counted, configurable: true, writable: true })
    }
  }

  /** Returns true unless the other side alone has held things up since the last look. */
  moved(): boolean {
    const { writableLength, writableEnded } = this.#stream
    const taken = this.#written - writableLength
    const isMore = taken > this.#seen
    this.#seen = taken
    return isMore || (writableLength === 0 && !writableEnded)
  }
}
