import type { Connecting, Connection } from './connection.ts'
import { type ServerConfig, withoutSecrets } from './server-config.ts'

/** Failed starts in a row after which the engine gives up. */
const MAX_FAILURES = 3
const MAX_REASON = 600

/** Options for starting servers. */
export interface Starting extends Omit<Connecting, 'name'> {
  /** Time from starting the process to receiving its list of tools. */
  readonly startMs: number
  /** Reports a server's trouble, in words that contain none of its secrets. */
  readonly report: (name: string, reason: string) => void
}

/**
 * One server, over as many connections as it needs.
 *
 * idle -> starting -> connected -> idle (it ended) -> starting ...
 *         starting -> idle (it failed to start); after three failures in a row it is not started again
 *
 * The engine starts it only when a Turn begins, so a server that ends within a Turn stays away until the next one.
 */
export class Server {
  readonly config: ServerConfig
  readonly #options: Starting
  readonly #closing = new AbortController()
  #connection: Connection | null = null
  #starting: Promise<void> | null = null
  #failures = 0
  #trouble: string | null = null

  constructor(config: ServerConfig, options: Starting) {
    this.config = config
    this.#options = options
  }

  /** The current connection; null if there is none that works. */
  get connection(): Connection | null {
    return this.#connection?.ended === null ? this.#connection : null
  }

  /** Why there is no connection; null if there is one, or if none has been tried. */
  get trouble(): string | null {
    return this.#starting === null ? this.#trouble : 'is still starting; its tools may come later'
  }

  /** Starts the server if it is not running. @returns a promise that resolves when it is up or has failed to start */
  start(): Promise<void> {
    if (this.connection !== null || this.#failures >= MAX_FAILURES) return Promise.resolve()
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null
      this.#options.changed()
    })
    return this.#starting
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#starting
    await this.#connection?.close()
  }

  /** Returns the reason without secrets, and shortened. */
  tellable(reason: string): string {
    return withoutSecrets(reason, this.config).slice(0, MAX_REASON)
  }

  async #start(): Promise<void> {
    const { startMs } = this.#options
    const overdue = AbortSignal.timeout(startMs)
    try {
      const { Connection } = await import('./connection.ts')
      const options = { ...this.#options, name: this.config.name, changed: () => this.#changed() }
      this.#connection = await Connection.open(this.config, options, AbortSignal.any([overdue, this.#closing.signal]))
      this.#failures = 0
      this.#trouble = null
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const { messageOf } = await import('./connection.ts')
      this.#failures += 1
      this.#because(overdue.aborted ? `did not start within ${startMs / 1000} seconds` : messageOf(error))
    }
  }

  #changed(): void {
    const ended = this.#connection?.ended ?? null
    if (ended !== null && !this.#closing.signal.aborted) this.#because(ended)
    this.#options.changed()
  }

  #because(reason: string): void {
    this.#trouble = this.tellable(reason)
    this.#options.report(this.config.name, this.#trouble)
  }
}
