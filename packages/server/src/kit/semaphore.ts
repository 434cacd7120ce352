/** Admits a number of holders at once; further ones wait in turn. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /**
   * Takes a permit, which disposal releases.
   *
   * @throws the signal's reason, which also ends the wait
   */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#turn(signal)
    return { [Symbol.dispose]: () => this.#give() }
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      this.#waiting.splice(this.#waiting.indexOf(turn), 1)
      reject(signal.reason)
    }
    const turn = () => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    this.#waiting.push(turn)
    signal.addEventListener('abort', leave, { once: true })
    return promise
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
