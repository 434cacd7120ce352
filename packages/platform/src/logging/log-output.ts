import { setTimeout as sleep } from 'node:timers/promises'
import type { LogSink } from './log-sink.ts'

/** Maximum size of the lines that wait for a slow reader. */
const heldBytes = 1024 * 1024

/**
 * The end of the log pipeline: it takes lines, never waits and never fails. While it writes one batch, the next one
 * gathers: a system call for each line was 7 % of a busy API process. It drops and counts lines that cannot be written,
 * and lines beyond its limit for a slow reader.
 */
export class LogOutput {
  readonly #sink: LogSink
  readonly #heldBytes: number
  #lines: string[] = []
  #held = 0
  #dropped = 0
  #reported = 0
  /** Whether a line was cut in the middle, so that the next one must begin a new line. */
  #torn = false
  #writing: Promise<void> | null = null
  #closed = false

  /** Called with the number of dropped lines when lines are written again after a gap. */
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

  /** Writes the lines it holds, or drops them after `patienceMs`. Later lines are dropped. */
  async close(patienceMs: number): Promise<void> {
    this.#closed = true
    const patience = new AbortController()
    await Promise.race([this.#writing, sleep(patienceMs, undefined, patience).catch(() => undefined)])
    patience.abort()
    this.#sink.destroy()
    await this.#writing
  }

  /** Writes the waiting lines synchronously, for a process that is about to exit. */
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
      // Report the gap when no lines wait, so that there is room for the report.
      if (whole && this.#lines.length === 0) this.#reportGap()
    }
    // In the same step as the last check: a later line starts the next round.
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

  #reportGap(): void {
    const gap = this.#dropped - this.#reported
    this.#reported = this.#dropped
    if (gap > 0 && !this.#closed) this.onGap(gap)
  }
}

const newline = 0x0a

function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1
  return count
}
