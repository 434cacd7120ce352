import type { Connecting, Connection } from './connection.ts'
import { type ServerConfig, withoutSecrets } from './server-config.ts'

/** Starts in a row that may be for nothing. */
const MAX_FAILURES = 3
const MAX_REASON = 600

/** What servers are started with. */
export interface Starting extends Omit<Connecting, 'name'> {
  /** Time from the start of a process to its list of tools. */
  readonly startMs: number
  /** What became of a server, in words that hold no secret of it. */
  readonly tell: (name: string, reason: string) => void
}

/**
 * One server, over as many connections as it takes.
 *
 * idle -> starting -> connected -> idle (it ended) -> starting ...
 *         starting -> idle (it did not come up), and after three of these in a row no more
 *
 * It is started when a Turn begins and at no other time: what ends within a Turn stays away until the next.
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

  /** Where there is one that works. */
  get connection(): Connection | null {
    return this.#connection?.ended === null ? this.#connection : null
  }

  /** Why there is none; null where there is one, or none has been tried. */
  get trouble(): string | null {
    return this.#starting === null ? this.#trouble : 'is still starting; its tools may come later'
  }

  /** Starts it where it does not run. @returns when it is up, or did not come up */
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

  /** The reason, as it may be told. */
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
      const { wordsOf } = await import('./connection.ts')
      this.#failures += 1
      this.#because(overdue.aborted ? `did not come up within ${startMs / 1000} seconds` : wordsOf(error))
    }
  }

  #changed(): void {
    const ended = this.#connection?.ended ?? null
    if (ended !== null && !this.#closing.signal.aborted) this.#because(ended)
    this.#options.changed()
  }

  #because(reason: string): void {
    this.#trouble = this.tellable(reason)
    this.#options.tell(this.config.name, this.#trouble)
  }
}
