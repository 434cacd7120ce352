import type { Output } from './output.ts'

/** Disables wrapping. A status line wider than the window would wrap, and counting lines could not erase it. */
const wrapOff = '\u001b[?7l'
const wrapOn = '\u001b[?7h'

/** Keeps a few changing lines below a growing text. It erases the changing lines before it prints anything. */
export class LiveTerminal {
  readonly #output: Output
  #drawn = 0

  constructor(output: Output) {
    this.#output = output
  }

  /**
   * Prints lasting lines and redraws the changing ones below them, in one write to avoid flicker. The cursor comes to
   * stand `back` columns before the end of the last one.
   */
  show(lines: readonly string[], status: readonly string[], back = 0): Promise<void> {
    const kept = lines.map(line => `${line}\n`).join('')
    const changing = status.length === 0 ? '' : `${wrapOff}${status.join('\n')}${wrapOn}`
    const moved = back > 0 && status.length > 0 ? `\u001b[${back}D` : ''
    const text = `${this.#erase()}${kept}${changing}${moved}`
    this.#drawn = status.length
    return text === '' ? Promise.resolve() : this.#output.write(text)
  }

  #erase(): string {
    if (this.#drawn === 0) return ''
    const up = this.#drawn === 1 ? '' : `\u001b[${this.#drawn - 1}A`
    return `\r${up}\u001b[J`
  }
}
