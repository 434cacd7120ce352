import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { spawn } from '../../../script/testing/spawn.ts'

const program = fileURLToPath(new URL('../dist/berth.js', import.meta.url))
/** A test has four minutes; what it waited for is named before they are over. */
const SHOWS_MS = 120_000
export const launcher = fileURLToPath(new URL('../bin/berth.js', import.meta.url))

export interface BerthOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** Whole standard input; null leaves it open for `type`. */
  readonly stdin?: string | Buffer | null
  /** Node and entry file to run instead of the program under this Node. */
  readonly command?: readonly [node: string, entry: string]
  /** Runs it in a pseudo-terminal, which carries both streams as `stdout`. */
  readonly terminal?: boolean
}

/** `berth` as a shell runs it: its own process, by default no terminal, and an environment with nothing else in it; `cwd` is home. */
export class BerthProcess {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown[]>
  readonly #waiting = new Set<() => void>()
  stdout = ''
  stderr = ''

  constructor(args: readonly string[], options: BerthOptions) {
    const [node, entry] = options.command ?? [process.execPath, program]
    const line = [node, entry, ...args]
    const [first = node, ...rest] = options.terminal ? ['script', '-qec', line.join(' '), '/dev/null'] : line
    this.#child = spawn(first, rest, {
      cwd: options.cwd,
      env: { PATH: process.env.PATH, HOME: options.cwd, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#closed = once(this.#child, 'close')
    this.#collect('stdout')
    this.#collect('stderr')
    if (options.stdin !== null) this.#child.stdin?.end(options.stdin ?? '')
  }

  /**
   * Resolves once the stream contains this.
   * @throws if the process ends without it, or two minutes pass; the error holds what the stream shows
   */
  async shows(stream: 'stdout' | 'stderr', text: string | RegExp): Promise<void> {
    const isShown = () => (typeof text === 'string' ? this[stream].includes(text) : text.test(this[stream]))
    const shown = Promise.withResolvers<void>()
    const missing = (why: string) => shown.reject(new Error(`${why}, ${stream} lacks ${text}: ${this[stream]}`))
    const check = () => {
      if (isShown()) shown.resolve()
    }
    const late = setTimeout(() => missing(`after ${SHOWS_MS} ms`), SHOWS_MS)
    this.#closed.then(([code, signal]) => missing(`ended with ${code ?? signal}`)).catch(missing)
    this.#waiting.add(check)
    check()
    await shown.promise.finally(() => {
      clearTimeout(late)
      this.#waiting.delete(check)
    })
  }

  /** Types into a standard input that was left open, and ends it. */
  type(text: string): void {
    this.#child.stdin?.end(text)
  }

  /** Types into a standard input that stays open. */
  key(text: string): void {
    this.#child.stdin?.write(text)
  }

  interrupt(): void {
    this.#child.kill('SIGINT')
  }

  /** Closes the reading end of the output, as `head` does. */
  closeOutput(): void {
    this.#child.stdout?.destroy()
  }

  /** Resolves to the exit code, or to the signal that ended the process. */
  async ended(): Promise<number | string> {
    const [code, signal] = await this.#closed
    return (code ?? signal) as number | string
  }

  get lines(): string[] {
    return this.stdout.split('\n').slice(0, -1)
  }

  #collect(name: 'stdout' | 'stderr'): void {
    this.#child[name]?.setEncoding('utf8').on('data', (text: string) => {
      this[name] += text
      for (const check of [...this.#waiting]) check()
    })
  }
}
