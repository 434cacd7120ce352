import { LineSplitter } from './line-splitter.ts'
import { MAX_STDERR_LINE_BYTES } from './protocol.ts'

/** The first and the last of an agent's stderr are kept, this much of each. */
const MAX_STDERR_HEAD_BYTES = 256 * 1024
const MAX_STDERR_TAIL_BYTES = 32 * 1024

/**
 * Keeps an agent's stderr without letting it grow: lines are cut, the first ones are passed on as they come, and of
 * the rest the last are passed on at the end, since those say why an agent died. Between them stands one line with
 * the number of lines left out.
 */
export class AgentStderr {
  readonly #emit: (line: Buffer) => void
  readonly #lines: LineSplitter
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  #omitted = 0

  constructor(emit: (line: Buffer) => void) {
    this.#emit = emit
    this.#lines = new LineSplitter(MAX_STDERR_LINE_BYTES, line => this.#take(line))
  }

  push(chunk: Buffer): void {
    this.#lines.push(chunk)
  }

  end(): void {
    this.#lines.end()
    if (this.#omitted > 0) this.#emit(Buffer.from(`[${this.#omitted} lines left out]`))
    for (const line of this.#tail) this.#emit(line)
    this.#tail = []
    this.#tailBytes = 0
    this.#omitted = 0
  }

  #take(line: Buffer): void {
    const cost = line.length + 1
    if (this.#headBytes + cost <= MAX_STDERR_HEAD_BYTES && this.#tail.length === 0) {
      this.#headBytes += cost
      this.#emit(line)
      return
    }
    // A copy, since a short line would otherwise keep the whole chunk it was read with.
    this.#tail.push(Buffer.from(line))
    this.#tailBytes += cost
    while (this.#tailBytes > MAX_STDERR_TAIL_BYTES) {
      const dropped = this.#tail.shift()
      if (!dropped) break
      this.#tailBytes -= dropped.length + 1
      this.#omitted += 1
    }
  }
}
