import { keepEnd, keepStart, toText } from './utf8.ts'

export const MAX_OUTPUT_BYTES = 64 * 1024
export const MAX_SUMMARY_BYTES = 4 * 1024
export const MAX_SUMMARY_LINES = 20

/**
 * Keeps a script's output: its beginning for the log and its last lines for the summary, whatever its length.
 */
export class ScriptOutput {
  // One byte more than is returned, to tell a character cut by the limit from one that ends there.
  readonly #head = Buffer.alloc(MAX_OUTPUT_BYTES + 1)
  #headBytes = 0
  #tail: Buffer = Buffer.alloc(0)
  #tailIsAll = true

  push(chunk: Buffer): void {
    this.#headBytes += chunk.copy(this.#head, this.#headBytes)
    const tail = Buffer.concat([this.#tail, chunk.subarray(-2 * MAX_SUMMARY_BYTES)])
    this.#tailIsAll &&= chunk.length + this.#tail.length <= 2 * MAX_SUMMARY_BYTES
    this.#tail = Buffer.from(tail.subarray(-2 * MAX_SUMMARY_BYTES))
  }

  /** Returns the beginning, at most `MAX_OUTPUT_BYTES` of UTF-8, cut between two characters. */
  text(): { text: string; truncated: boolean } {
    // Replacing invalid UTF-8 makes the text longer, never shorter, so apply the limit again.
    const decoded = Buffer.from(toText(keepStart(this.#head.subarray(0, this.#headBytes), MAX_OUTPUT_BYTES)))
    const kept = keepStart(decoded, MAX_OUTPUT_BYTES)
    return { text: kept.toString(), truncated: this.#headBytes > MAX_OUTPUT_BYTES || kept.length < decoded.length }
  }

  /** Returns the last lines, whole if they fit. */
  summary(): string {
    return this.#lastLines().text
  }

  /** True if the summary begins within a line. */
  get isSummaryCut(): boolean {
    return this.#lastLines().isCut
  }

  #lastLines(): { text: string; isCut: boolean } {
    const text = toText(keepEnd(this.#tail, 2 * MAX_SUMMARY_BYTES)).trimEnd()
    const lines = text.split('\n')
    const whole = this.#tailIsAll || lines.length === 1 ? lines : lines.slice(1)
    const kept: string[] = []
    let bytes = 0
    for (const line of whole.slice(-MAX_SUMMARY_LINES).reverse()) {
      bytes += Buffer.byteLength(line) + 1
      if (kept.length > 0 && bytes > MAX_SUMMARY_BYTES) break
      kept.unshift(line)
    }
    const chosen = Buffer.from(kept.join('\n'))
    const fitting = keepEnd(chosen, MAX_SUMMARY_BYTES)
    const beginsTail = kept.length === whole.length && whole.length === lines.length
    return { text: fitting.toString(), isCut: fitting.length < chosen.length || (beginsTail && !this.#tailIsAll) }
  }
}
