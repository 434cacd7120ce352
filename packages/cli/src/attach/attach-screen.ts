import { emitKeypressEvents } from 'node:readline'
import { LiveTerminal } from '../live-terminal.ts'
import type { Output } from '../output.ts'
import { type Key, LineEditor } from './line-editor.ts'

const frameMs = 100
/** Pasted text comes between marks, so that its line breaks send nothing. */
const pasteMarks = { on: '\u001b[?2004h', off: '\u001b[?2004l' }

export interface AttachScreenOptions {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  /** The changing lines above the prompt. */
  readonly status: (frame: number) => readonly string[]
  /** The text before the input. */
  readonly label: () => string
  /** Called with the input when Enter sends it. */
  readonly entered: (text: string) => void
  /** Called with Ctrl-C, Ctrl-D on an empty line, and Esc. */
  readonly pressed: (key: 'interrupt' | 'end' | 'escape') => void
}

/** A growing text with changing lines below it, and a line at the bottom in which a person types. */
export class AttachScreen implements AsyncDisposable {
  readonly editor = new LineEditor()
  readonly #options: AttachScreenOptions
  readonly #terminal: LiveTerminal
  readonly #timer: ReturnType<typeof setInterval>
  #frame = 0
  #drawn = ''
  #isDrawing = false
  #pasted: string | null = null

  constructor(options: AttachScreenOptions) {
    this.#options = options
    this.#terminal = new LiveTerminal(options.stdout)
    emitKeypressEvents(options.stdin)
    options.stdin.setRawMode(true)
    options.stdin.on('keypress', this.#key).resume()
    options.stdout.write(pasteMarks.on).catch(() => {})
    this.#timer = setInterval(() => this.#tick(), frameMs)
  }

  /** Prints lasting lines above the prompt. */
  show(lines: readonly string[]): Promise<void> {
    return this.#draw(lines)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    const { stdin, stdout } = this.#options
    stdin.off('keypress', this.#key)
    stdin.setRawMode(false)
    stdin.pause()
    await this.#terminal.show([], [])
    await stdout.write(pasteMarks.off)
  }

  readonly #key = (typed: string | undefined, key: Key): void => {
    if (key.name === 'paste-start') this.#pasted = ''
    else if (key.name === 'paste-end') {
      this.editor.insert(this.#pasted ?? '')
      this.#pasted = null
    } else if (this.#pasted !== null) this.#pasted += typed ?? key.sequence ?? ''
    else if (key.ctrl === true && key.name === 'c') this.#options.pressed('interrupt')
    else if (key.ctrl === true && key.name === 'd' && this.editor.text === '') this.#options.pressed('end')
    else if (key.name === 'escape') this.#options.pressed('escape')
    else if (key.meta !== true && key.name === 'return') {
      const { text } = this.editor
      this.editor.text = ''
      this.#options.entered(text)
    } else this.editor.press({ ...key, sequence: typed ?? key.sequence })
    this.#draw([]).catch(() => {})
  }

  /** A tick only redraws changes, so it may be dropped if the terminal is slow. */
  #tick(): void {
    this.#frame++
    if (this.#isDrawing) return
    this.#isDrawing = true
    this.#draw([])
      .catch(() => {})
      .finally(() => {
        this.#isDrawing = false
      })
  }

  #draw(lines: readonly string[]): Promise<void> {
    const { stdout, status, label } = this.#options
    const prompt = label()
    // A long label has a line of its own, or there would be no room to type.
    const isLong = prompt.length > stdout.columns / 2
    const before = isLong ? '› ' : `${prompt} `
    const { text, back } = this.editor.shown(stdout.columns - before.length)
    const above = isLong ? [stdout.paint('cyan', prompt)] : []
    const below = [...status(this.#frame), ...above, `${stdout.paint('cyan', before)}${text}`]
    const drawn = `${below.join('\n')}\n${back}`
    if (lines.length === 0 && drawn === this.#drawn) return Promise.resolve()
    this.#drawn = drawn
    return this.#terminal.show(lines, below, back)
  }
}
