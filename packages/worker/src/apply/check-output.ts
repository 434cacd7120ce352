import { storable } from '@berth/core/sessions/log/bounded-text.ts'
import type { MaskingStream, Redactor } from '@berth/platform/kit/redactor.ts'
import { endOf, type ProgramOutput } from './output-reporter.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Keeps what one program writes, masked. The program has bounded it: its beginning, and its end if that is not all. */
export class CheckOutput implements ProgramOutput {
  /** Nobody is told before the end. */
  readonly dueInMs = LONGEST_TIMER_MS
  readonly #redactor: Redactor
  #stream: MaskingStream
  #text = ''
  #ending: string | null = null

  constructor(redactor: Redactor) {
    this.#redactor = redactor
    this.#stream = redactor.stream()
  }

  begin(): void {
    this.#stream = this.#redactor.stream()
    this.#text = ''
    this.#ending = null
  }

  push(text: string): void {
    this.#text += storable(this.#stream.push(text))
  }

  replaceTail(text: string): void {
    this.#text += storable(this.#stream.end(true))
    this.#stream = this.#redactor.stream()
    this.#ending = storable(this.#redactor.ending(text, true))
  }

  async tell(): Promise<void> {}

  /** Ends the text, and returns it with its last 8 KiB. */
  end(): { readonly whole: string; readonly tail: string } {
    this.#text += storable(this.#stream.end())
    const ending = this.#ending
    const whole = ending === null ? this.#text : `${this.#text}\n[berth: some output is left out here]\n${ending}`
    return { whole, tail: endOf(ending ?? this.#text) }
  }
}
