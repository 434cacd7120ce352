import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { safeUrl } from '../transcript/safe-url.ts'
import type { Screen } from './connection.ts'
import { nonceStyles } from './nonced-styles.ts'
import { terminalTheme } from './palette.ts'

/** Effects of a terminal on the page. Programs may neither set the page's title, ring, nor reach the clipboard. */
interface TerminalEvents {
  readonly typed: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly resized: (columns: number, rows: number) => void
  /** A link was activated that the page may offer to open. */
  readonly linked: (url: string) => void
  /** The person wants to leave the terminal by keyboard. */
  readonly left: () => void
}

const encoder = new TextEncoder()

/** An emulator in an element of the page. */
export class Emulator implements Screen {
  readonly #terminal: Terminal
  readonly #fit = new FitAddon()
  readonly #stop: () => void
  /** The next character is typed with Ctrl, for keyboards without that key. */
  holdsControl = false
  onControlUsed: () => void = () => {}

  constructor(parent: HTMLElement, events: TerminalEvents) {
    nonceStyles()
    const style = getComputedStyle(parent)
    this.#terminal = new Terminal({
      allowProposedApi: false,
      cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
      fontFamily: style.fontFamily,
      fontSize: 13,
      lineHeight: 1.25,
      scrollback: 5000,
      minimumContrastRatio: 4.5,
      theme: terminalTheme(),
      linkHandler: {
        activate: (_, text) => {
          const url = safeUrl(text)
          if (url !== undefined && url !== '') events.linked(url)
        },
      },
    })
    const terminal = this.#terminal
    terminal.loadAddon(this.#fit)
    terminal.open(parent)
    terminal.attachCustomKeyEventHandler(event => this.#handle(event, events))
    terminal.onData(text => events.typed(encoder.encode(this.#withControl(text))))
    terminal.onBinary(text => events.typed(Uint8Array.from(text, character => character.charCodeAt(0))))
    terminal.onResize(({ cols, rows }) => events.resized(cols, rows))
    const sized = new ResizeObserver(() => this.#fit.fit())
    sized.observe(parent)
    const themed = new MutationObserver(() => {
      terminal.options.theme = terminalTheme()
    })
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    this.#fit.fit()
    this.#stop = () => {
      sized.disconnect()
      themed.disconnect()
      terminal.dispose()
    }
  }

  get columns(): number {
    return this.#terminal.cols
  }

  get rows(): number {
    return this.#terminal.rows
  }

  reset(): void {
    this.#terminal.reset()
  }

  write(output: Uint8Array, shown: () => void): void {
    this.#terminal.write(output, shown)
  }

  focus(): void {
    this.#terminal.focus()
  }

  /** Types a key that the person's keyboard may lack. */
  press(sequence: string): void {
    this.#terminal.input(sequence)
    this.#terminal.focus()
  }

  dispose(): void {
    this.#stop()
  }

  #withControl(text: string): string {
    if (!this.holdsControl || text.length !== 1) return text
    this.holdsControl = false
    this.onControlUsed()
    const code = text.toUpperCase().charCodeAt(0)
    return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : text
  }

  /** Returns false for keys that are the page's and not the shell's. */
  #handle(event: KeyboardEvent, events: TerminalEvents): boolean {
    if (event.type !== 'keydown') return true
    if (event.key === 'ArrowUp' && event.ctrlKey && event.shiftKey) {
      event.preventDefault()
      events.left()
      return false
    }
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey
    const key = event.key.toLowerCase()
    // Pasting is the browser's.
    if (isCommand && key === 'v') return false
    if (isCommand && key === 'c' && this.#terminal.hasSelection()) {
      event.preventDefault()
      void navigator.clipboard.writeText(this.#terminal.getSelection()).catch(() => undefined)
      this.#terminal.clearSelection()
      return false
    }
    return true
  }
}
