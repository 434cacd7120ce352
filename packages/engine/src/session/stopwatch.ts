/** A timer that runs while an agent works and pauses while it waits for people. */
export class Stopwatch {
  readonly #over: () => void
  #leftMs: number | null
  #since = 0
  #timer: NodeJS.Timeout | undefined
  #pauses = 0

  /** @param ms null for no limit */
  constructor(ms: number | null, over: () => void) {
    this.#over = over
    this.#leftMs = ms === null ? null : Math.min(ms, 2 ** 31 - 1)
    this.#run()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#leftMs = null
  }

  async pausedFor<T>(work: () => Promise<T>): Promise<T> {
    this.#pauses += 1
    if (this.#pauses === 1) this.#pause()
    try {
      return await work()
    } finally {
      this.#pauses -= 1
      if (this.#pauses === 0) this.#run()
    }
  }

  #run(): void {
    if (this.#leftMs === null) return
    this.#since = Date.now()
    this.#timer = setTimeout(this.#over, this.#leftMs)
  }

  #pause(): void {
    clearTimeout(this.#timer)
    if (this.#leftMs !== null) this.#leftMs = Math.max(0, this.#leftMs - (Date.now() - this.#since))
  }
}
