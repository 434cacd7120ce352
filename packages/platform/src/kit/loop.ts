import { backoffMs } from './backoff.ts'

/**
 * Failures in a row after which pauses grow. A claim lapses after as many missed renewals; until then each renewal comes
 * in time.
 */
const PATIENCE = 4
/** The longest pause after failures, unless the interval is longer: so late may a process see that the database is back. */
const LONGEST_PAUSE_MS = 5_000

/**
 * Calls `work` when woken, and at least every `intervalMs`, which may depend on the moment. Calls never overlap: a wake-up
 * during a call leads to one more call after it. Errors go to `onError`, and the loop continues; while every call fails, as
 * it does without a database, the pauses grow.
 */
export class Loop implements AsyncDisposable {
  readonly #work: () => Promise<void>
  readonly #intervalMs: number | (() => number)
  readonly #onError: (error: unknown) => void
  readonly #random: () => number
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #again = false
  #stopped = false
  #failures = 0

  constructor(
    work: () => Promise<void>,
    intervalMs: number | (() => number),
    onError: (error: unknown) => void,
    random = Math.random,
  ) {
    this.#work = work
    this.#intervalMs = intervalMs
    this.#onError = onError
    this.#random = random
  }

  wake(): void {
    if (this.#stopped) return
    if (this.#running !== null) {
      this.#again = true
      return
    }
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#running = this.#run()
  }

  /** Stops the loop. Resolves when the current call, if any, has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    do {
      this.#again = false
      try {
        await this.#work()
        this.#failures = 0
      } catch (error) {
        this.#failures += 1
        this.#onError(error)
      }
    } while (this.#again && !this.#stopped)
    this.#running = null
    if (this.#stopped) return
    this.#timer = setTimeout(() => this.wake(), this.#pauseMs())
  }

  #pauseMs(): number {
    const intervalMs = typeof this.#intervalMs === 'number' ? this.#intervalMs : this.#intervalMs()
    const grown = this.#failures - PATIENCE
    if (grown <= 0) return intervalMs
    return Math.max(intervalMs, backoffMs(grown, 2 * intervalMs, LONGEST_PAUSE_MS, this.#random))
  }
}
