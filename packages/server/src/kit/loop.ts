/**
 * Calls `work` when woken, and at least every `intervalMs`, which may depend on the moment. Calls never overlap: a wake-up during a call leads to one more
 * call after it. Errors go to `onError`, and the loop continues.
 */
export class Loop implements AsyncDisposable {
  readonly #work: () => Promise<void>
  readonly #intervalMs: number | (() => number)
  readonly #onError: (error: unknown) => void
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(work: () => Promise<void>, intervalMs: number | (() => number), onError: (error: unknown) => void) {
    this.#work = work
    this.#intervalMs = intervalMs
    this.#onError = onError
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
      } catch (error) {
        this.#onError(error)
      }
    } while (this.#again && !this.#stopped)
    this.#running = null
    if (this.#stopped) return
    const intervalMs = typeof this.#intervalMs === 'number' ? this.#intervalMs : this.#intervalMs()
    this.#timer = setTimeout(() => this.wake(), intervalMs)
  }
}
