import { storable, TextCollector } from '@berth/core/sessions/log/bounded-text.ts'
import type { MaskingStream, Redactor } from '@berth/platform/kit/redactor.ts'
import { MAX_HEAD_BYTES, MAX_TAIL_BYTES } from '@berth/supervisor/apply'
import { endOf, type ProgramOutput } from './output-reporter.ts'

/** People who follow a check see what it writes this much later at most. */
const EVERY_MS = 2_000

/**
 * Keeps what one program writes, masked: its beginning, and its end if that is not all. The program bounds both, and so
 * does this, because a check can write lines as the program's.
 */
export class CheckOutput implements ProgramOutput {
  readonly dueInMs = EVERY_MS
  readonly #redactor: Redactor
  readonly #onTail: (tail: string) => Promise<void>
  #stream: MaskingStream
  #text = new TextCollector(MAX_HEAD_BYTES)
  #ending: string | null = null
  #reported = ''

  /** @param onTail hears the last 8 KiB so far while the program runs, if they have changed, at most every two seconds */
  constructor(redactor: Redactor, onTail: (tail: string) => Promise<void>) {
    this.#redactor = redactor
    this.#onTail = onTail
    this.#stream = redactor.stream()
  }

  begin(): void {
    this.#stream = this.#redactor.stream()
    this.#text = new TextCollector(MAX_HEAD_BYTES)
    this.#ending = null
  }

  push(text: string): void {
    this.#text.append(storable(this.#stream.push(text)))
  }

  replaceTail(text: string): void {
    this.#text.append(storable(this.#stream.end(true)))
    this.#stream = this.#redactor.stream()
    this.#ending = endOf(storable(this.#redactor.ending(text, true)), MAX_TAIL_BYTES)
  }

  async report(): Promise<void> {
    this.#text.append(storable(this.#stream.settled()))
    const tail = endOf(this.#text.text)
    if (tail === this.#reported) return
    this.#reported = tail
    await this.#onTail(tail)
  }

  /** Ends the text, and returns it with its last 8 KiB. */
  end(): { readonly whole: string; readonly tail: string } {
    this.#text.append(storable(this.#stream.end()))
    const { text, truncated } = this.#text
    const ending = this.#ending
    const isWhole = ending === null && !truncated
    const whole = isWhole ? text : `${text}\n[berth: some output is left out here]\n${ending ?? ''}`
    return { whole, tail: endOf(ending ?? text) }
  }
}
