/** So many wait at a semaphore that no more may. */
export class SemaphoreCrowded extends Error {
  override readonly name = 'SemaphoreCrowded'
}

interface Waiter {
  readonly admit: () => void
}

/**
 * Admits a number of holders at once; further ones wait. A permit that becomes free goes to the owner who has waited
 * longest for a turn, so nobody waits behind all that another owner has asked for.
 */
export class Semaphore {
  #free: number
  readonly #mostWaiting: number
  /** The owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<Waiter>>()

  constructor(count: number, mostWaiting = Number.POSITIVE_INFINITY) {
    this.#free = count
    this.#mostWaiting = mostWaiting
  }

  /**
   * Takes a permit, which disposal releases.
   *
   * @param owner who asks, such as an organization
   * @throws the signal's reason, which also ends the wait
   * @throws SemaphoreCrowded
   */
  async take(signal: AbortSignal | null, owner = ''): Promise<Disposable> {
    signal?.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#turn(signal, owner)
    return { [Symbol.dispose]: () => this.#give() }
  }

  #turn(signal: AbortSignal | null, owner: string): Promise<void> {
    const waits = this.#waiting.values().reduce((sum, { size }) => sum + size, 0)
    if (waits >= this.#mostWaiting) throw new SemaphoreCrowded()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(owner) ?? new Set()
    const leave = () => {
      waiting.delete(waiter)
      if (waiting.size === 0) this.#waiting.delete(owner)
      reject(signal?.reason)
    }
    const waiter = {
      admit: () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      },
    }
    this.#waiting.set(owner, waiting.add(waiter))
    signal?.addEventListener('abort', leave, { once: true })
    return promise
  }

  #give(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    const [owner, waiting] = next
    this.#waiting.delete(owner)
    const [waiter] = waiting
    if (waiter === undefined) throw new Error('an owner without waiters has a turn')
    waiting.delete(waiter)
    if (waiting.size > 0) this.#waiting.set(owner, waiting)
    waiter.admit()
  }
}
