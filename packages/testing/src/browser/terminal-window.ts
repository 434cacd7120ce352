import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { spawn } from '../../../../script/testing/spawn.ts'

const xterm = fileURLToPath(new URL('../../../../node_modules/@xterm/xterm', import.meta.url))
/** Pictures are written here, if it is set. */
const shots = process.env.BERTH_SCREENSHOTS
const themes = {
  light: {
    ...{ background: '#ffffff', foreground: '#15181d', red: '#b3261e', green: '#0b6b37', yellow: '#85500a' },
    ...{ blue: '#1c5bc4', magenta: '#8a3fb0', cyan: '#0d6b78', brightBlack: '#5c6573' },
  },
  dark: {
    ...{ background: '#0f1115', foreground: '#e9ebef', red: '#ff938a', green: '#57d28a', yellow: '#eab65a' },
    ...{ blue: '#8ab4ff', magenta: '#d3a4f5', cyan: '#6fd3e0', brightBlack: '#929ba9' },
  },
} as const

/** `berth` ends a redrawing by letting lines wrap again. */
const endOfDrawing = '\u001b[?7h'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** The part of the emulator that scripts in its page use. */
interface Emulator {
  readonly options: { theme: object }
  readonly buffer: { active: { length: number; getLine(at: number): { translateToString(trim: boolean): string } } }
  write(text: string, done: () => void): void
  open(element: unknown): void
}
declare const window: { Terminal: new (options: object) => Emulator; emulator: Emulator }
declare const document: { querySelector(selector: string): unknown; body: { className: string } }

/** Runs commands in a terminal, as a person does. Its screen can be read, and seen in a browser. */
export class TerminalWindow implements AsyncDisposable {
  readonly #size: Size
  readonly #child
  readonly #ended: Promise<unknown>
  #isOver = false
  #printed = ''
  #check = () => {}

  /** @param script for bash, which prints each command before it runs it */
  constructor(script: string, size: Size, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    this.#size = size
    const sized = `stty rows ${size.rows} cols ${size.columns}; ${script}`
    this.#child = spawn('script', ['-qec', `bash -c ${quoted(sized)}`, '/dev/null'], {
      cwd: options.cwd,
      env: { TERM: 'xterm-256color', ...options.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#ended = once(this.#child, 'close').then(() => {
      this.#isOver = true
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text
      this.#check()
    })
  }

  type(text: string): void {
    this.#child.stdin.write(text)
  }

  /** Resolves once the terminal has printed something that fits; rejects if its commands end without it. */
  async prints(text: RegExp): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#check = () => text.test(this.#printed) && resolve()
      void this.#ended.then(() => reject(new Error(`it ended without ${text}: ${this.#printed}`)))
      this.#check()
    })
  }

  async ended(): Promise<void> {
    await this.#ended
  }

  /**
   * Shows the terminal in a browser as it is now, and takes pictures in both themes if the environment asks for them.
   * @returns the lines of the terminal from its beginning, without space at their ends
   */
  async seen(browser: Browser, name: string): Promise<readonly string[]> {
    const page = await browser.newPage({ deviceScaleFactor: 1.5 })
    try {
      await openEmulator(page, this.#size)
      await page.evaluate(text => new Promise<void>(done => window.emulator.write(text, done)), this.#whole)
      for (const scheme of ['light', 'dark'] as const) await picture(page, name, scheme)
      return await page.evaluate(() => {
        const { active } = window.emulator.buffer
        return Array.from({ length: active.length }, (_, at) => active.getLine(at).translateToString(true))
      })
    } finally {
      await page.close()
    }
  }

  /** The output without an unfinished redrawing, which has erased lines and not drawn them again. */
  get #whole(): string {
    const drawn = this.#printed.lastIndexOf(endOfDrawing)
    return this.#isOver || drawn === -1 ? this.#printed : this.#printed.slice(0, drawn + endOfDrawing.length)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

/** Returns bash words that print a prompt with a command, and then run it. */
export const prompted = (command: string): string =>
  `printf '\\033[1;36m$\\033[0m %s\\n' ${quoted(command)}; ${command}`

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

async function openEmulator(page: Page, { columns, rows }: Size): Promise<void> {
  await page.setContent(`<!doctype html><style>
    body { margin: 0; display: inline-block; padding: 24px; background: #f1f3f6 }
    body.dark { background: #1b1f26 }
    main { border-radius: 10px; padding: 14px 16px; box-shadow: 0 1px 2px #0003, 0 6px 24px #0002; background: #fff }
    body.dark main { background: #0f1115 }
    .xterm-viewport, .xterm-scrollable-element > .scrollbar { overflow: hidden !important; display: none }
  </style><main></main>`)
  await page.addStyleTag({ path: join(xterm, 'css/xterm.css') })
  await page.addScriptTag({ path: join(xterm, 'lib/xterm.js') })
  await page.evaluate(
    size => {
      const { Terminal } = window
      const style = {
        fontFamily: 'monospace',
        fontSize: 13,
        lineHeight: 1.25,
        cursorBlink: false,
        minimumContrastRatio: 4.5,
      }
      window.emulator = new Terminal({ ...size, ...style, cursorStyle: 'bar', cursorInactiveStyle: 'none' })
      window.emulator.open(document.querySelector('main'))
    },
    { cols: columns, rows },
  )
}

async function picture(page: Page, name: string, scheme: keyof typeof themes): Promise<void> {
  if (shots === undefined) return
  await mkdir(shots, { recursive: true })
  await page.evaluate(
    ({ theme, className }) => {
      window.emulator.options.theme = theme
      document.body.className = className
    },
    { theme: themes[scheme], className: scheme },
  )
  // The emulator draws with the next frame.
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  await page.locator('body').screenshot({ path: join(shots, `terminal-${name}-${scheme}.png`) })
}
