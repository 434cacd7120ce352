import { LineSplitter } from './line-splitter.ts'
import { MAX_STDERR_LINE_BYTES } from './protocol.ts'

/** Sizes of the beginning and the end of an agent's stderr that are kept. */
const MAX_STDERR_HEAD_BYTES = 256 * 1024
const MAX_STDERR_TAIL_BYTES = 32 * 1024

/**
 * Keeps a bounded part of an agent's stderr. Long lines are cut. The first lines are passed on as they come. Of the
 * rest, the last lines are passed on at the end, because they say why an agent died. One line between the two parts
 * says how many lines were omitted.
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
    // Copy the line, because a short line would otherwise keep its whole chunk in memory.
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
