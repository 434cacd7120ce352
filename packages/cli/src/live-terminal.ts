import type { Output } from './output.ts'

/** Without it a status line longer than the window would wrap, and could not be erased by counting lines. */
const wrapOff = '\u001b[?7l'
const wrapOn = '\u001b[?7h'

/** Keeps a few changing lines below a growing text. Everything drawn is erased again before anything is printed. */
export class LiveTerminal {
  readonly #output: Output
  #drawn = 0

  constructor(output: Output) {
    this.#output = output
  }

  /** Prints lines that stay and redraws the changing ones below them, in one write so that nothing flickers. */
  show(lines: readonly string[], status: readonly string[]): Promise<void> {
    const kept = lines.map(line => `${line}\n`).join('')
    const changing = status.length === 0 ? '' : `${wrapOff}${status.join('\n')}${wrapOn}`
    const text = `${this.#erase()}${kept}${changing}`
    this.#drawn = status.length
    return text === '' ? Promise.resolve() : this.#output.write(text)
  }

  #erase(): string {
    if (this.#drawn === 0) return ''
    const up = this.#drawn === 1 ? '' : `\u001b[${this.#drawn - 1}A`
    return `\r${up}\u001b[J`
  }
}
