import { once } from 'node:events'
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** An output stream of the process; writes wait until the reader keeps up. */
export class Output {
  readonly #stream: NodeJS.WriteStream
  /** True for every terminal, also for one that cannot redraw lines. */
  readonly isTTY: boolean
  /** True if lines can be redrawn in place. */
  readonly isTerminal: boolean
  readonly #colour: boolean

  constructor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv) {
    this.#stream = stream
    this.isTTY = stream.isTTY === true
    this.isTerminal = this.isTTY && env.TERM !== 'dumb'
    this.#colour = this.isTerminal && !env.NO_COLOR
  }

  get columns(): number {
    // A terminal that does not know its size reports 0.
    return this.#stream.columns || 80
  }

  get rows(): number {
    return this.#stream.rows || 24
  }

  /** Calls `listener` whenever the terminal's size changes. */
  onResize(listener: () => void): Disposable {
    this.#stream.on('resize', listener)
    return { [Symbol.dispose]: () => void this.#stream.off('resize', listener) }
  }

  async write(text: string | Uint8Array): Promise<void> {
    if (!this.#stream.write(text)) await once(this.#stream, 'drain')
  }

  line(text: string): Promise<void> {
    return this.write(`${text}\n`)
  }

  /** Colours text if this output shows colours. */
  readonly paint: Paint = (style, text) => (this.#colour ? styleText(style, text, { validateStream: false }) : text)
}

/** Styles a text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string
