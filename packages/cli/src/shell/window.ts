import type { Output } from '../output.ts'
import type { AfterMark } from './command-line.ts'
import { SafeOutput } from './safe-output.ts'
import type { Screen } from './terminal-link.ts'

/** Clears the screen, for the old output that comes again. */
const clear = '\u001b[!p\u001b[0m\u001b[H\u001b[2J'
/**
 * Takes back the modes that a full-screen program has left: the alternate screen, mouse reports, pasting marks, keys of
 * applications, a hidden cursor, colours.
 */
const plainModes =
  '\u001b[?1049l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?1l\u001b>\u001b[?25h\u001b[0m'

const tailBytes = 1024

/** Drops the part of a new connection's old output that the last connection had shown. */
class Missed {
  readonly #tail: Buffer
  #old = Buffer.alloc(0)
  #left: number

  constructor(tail: Buffer, scrollback: number) {
    this.#tail = tail
    this.#left = scrollback
  }

  read(output: Uint8Array): Uint8Array {
    if (this.#left <= 0) return output
    this.#left -= output.length
    this.#old = Buffer.concat([this.#old, output])
    if (this.#left > 0) return Buffer.alloc(0)
    const at = this.#old.lastIndexOf(this.#tail)
    return at < 0 ? this.#old : this.#old.subarray(at + this.#tail.length)
  }
}

/** This window as the screen of a terminal in a sandbox. */
export class Window implements Screen {
  readonly #stdout: Output
  readonly #stderr: Output
  readonly #only: AfterMark | null
  readonly #opened: () => void
  #safe = new SafeOutput()
  /** The end of the output so far, by which its place is found again. */
  #tail = Buffer.alloc(0)
  #missed = new Missed(Buffer.alloc(0), 0)

  /** @param only drops everything before the output of a command @param opened called at the first output */
  constructor(
    { stdout, stderr }: { readonly stdout: Output; readonly stderr: Output },
    only: AfterMark | null,
    opened: () => void,
  ) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.#only = only
    this.#opened = opened
  }

  get columns(): number {
    return Math.min(this.#stdout.columns, 1000)
  }

  get rows(): number {
    return Math.min(this.#stdout.rows, 1000)
  }

  async ready(again: boolean, scrollback: number): Promise<void> {
    if (!again) return
    if (this.#only !== null || !this.#stdout.isTerminal) this.#missed = new Missed(this.#tail, scrollback)
    else {
      this.#safe = new SafeOutput()
      await this.#stdout.write(clear)
    }
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#opened()
    const output = this.#missed.read(chunk)
    this.#tail = Buffer.concat([this.#tail, output]).subarray(-tailBytes)
    const own = this.#only === null ? output : this.#only.read(output)
    const shown = this.#stdout.isTerminal ? this.#safe.read(own) : own
    if (shown.length > 0) await this.#stdout.write(shown)
  }

  async lost(): Promise<void> {
    await this.#stderr.line(`${this.#stdout.isTerminal ? '\r\n' : ''}berth: connection lost; reconnecting`)
  }

  /** Leaves the window as the person's own shell expects it. */
  async plain(): Promise<void> {
    if (this.#stdout.isTerminal) await this.#stdout.write(`${plainModes}\r\n`)
  }
}
