/** Lets one loop wait until somebody rings, or a time has passed. A ring while nobody waits is kept. */
export class Wakeup {
  #rung = false
  #wake: (() => void) | null = null

  readonly ring = (): void => {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, after a time, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      clearTimeout(timer)
      this.#wake = null
    }
    this.#rung = false
  }
}
