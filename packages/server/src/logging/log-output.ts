import { setTimeout as sleep } from 'node:timers/promises'
import type { LogSink } from './log-sink.ts'

/** Lines that wait for a slow reader hold at most this much. */
const heldBytes = 1024 * 1024

/**
 * The end of the log's pipeline: takes lines, never waits and never fails. While one batch is written the next one
 * gathers: a system call for each line was 7 % of a busy API process. Lines that cannot be written, or that a reader
 * leaves waiting beyond a bound, are dropped and counted.
 */
export class LogOutput {
  readonly #sink: LogSink
  readonly #heldBytes: number
  #lines: string[] = []
  #held = 0
  #dropped = 0
  #told = 0
  /** A line was cut in the middle: the next one must not continue it. */
  #torn = false
  #writing: Promise<void> | null = null
  #closed = false

  /** Is called when lines are written again after some were dropped, with the number of those. */
  onGap: (dropped: number) => void = () => {}

  constructor(sink: LogSink, options: { readonly heldBytes?: number } = {}) {
    this.#sink = sink
    this.#heldBytes = options.heldBytes ?? heldBytes
  }

  /** Lines dropped since the process began. */
  get dropped(): number {
    return this.#dropped
  }

  /** Takes one line with its newline. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#closed || this.#held + bytes > this.#heldBytes) {
      this.#dropped += 1
      return
    }
    this.#lines.push(line)
    this.#held += bytes
    this.#writing ??= this.#writeAll()
  }

  /** Writes what it holds, or drops it after `patienceMs`. Lines that come later are dropped. */
  async close(patienceMs: number): Promise<void> {
    this.#closed = true
    const patience = new AbortController()
    await Promise.race([this.#writing, sleep(patienceMs, undefined, patience).catch(() => undefined)])
    patience.abort()
    this.#sink.destroy()
    await this.#writing
  }

  /** Writes the lines that wait without waiting itself, for a process that exits now. */
  writeLastLines(): void {
    if (this.#lines.length > 0) this.#sink.writeNow(Buffer.from(this.#lines.join('')))
    this.#lines = []
  }

  async #writeAll(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.#lines
      this.#lines = []
      const text = Buffer.from(lines.join(''))
      const whole = await this.#writeBatch(text, lines.length)
      this.#held -= text.length
      // Told when nothing waits, so that there is room for the line that tells it.
      if (whole && this.#lines.length === 0) this.#tellGap()
    }
    // In the same step as the last look: a line that comes later starts the next round.
    this.#writing = null
  }

  /** @returns whether all of it was written */
  async #writeBatch(text: Buffer, lines: number): Promise<boolean> {
    const start = this.#torn ? 1 : 0
    const bytes = start === 0 ? text : Buffer.concat([Buffer.from('\n'), text])
    const written = await this.#sink.write(bytes).catch(() => 0)
    if (written === 0) {
      this.#dropped += lines
      return false
    }
    this.#torn = bytes[written - 1] !== newline
    this.#dropped += lines - countLines(bytes.subarray(start, written))
    return written === bytes.length
  }

  #tellGap(): void {
    const gap = this.#dropped - this.#told
    this.#told = this.#dropped
    if (gap > 0 && !this.#closed) this.onGap(gap)
  }
}

const newline = 0x0a

function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1
  return count
}
