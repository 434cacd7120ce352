import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Runs the sources, because a bundle may be older than they are. */
const program = fileURLToPath(new URL('../src/main.ts', import.meta.url))
export const launcher = fileURLToPath(new URL('../bin/berth.js', import.meta.url))

export interface BerthOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** Whole standard input; null leaves it open for `type`. */
  readonly stdin?: string | null
  /** Node and entry file to run instead of the sources under this Node. */
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

  /** Resolves once the stream contains this. */
  shows(stream: 'stdout' | 'stderr', text: string | RegExp): Promise<void> {
    return new Promise(resolve => {
      const look = () => {
        if (typeof text === 'string' ? !this[stream].includes(text) : !text.test(this[stream])) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
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
      for (const look of [...this.#waiting]) look()
    })
  }
}
