import { CredentialRefusal } from './git-credential.ts'

/** A number of requests that may be answered at once. Others wait for their turn. */
export class Slots {
  #free: number
  readonly #mostWaiting: number
  /** The first has waited for longest. */
  readonly #waiting = new Set<() => void>()

  /** @param mostWaiting so many may wait; what comes then is refused */
  constructor(most: number, mostWaiting: number) {
    this.#free = most
    this.#mostWaiting = mostWaiting
  }

  /**
   * Takes a slot until the result is disposed of, once there is one.
   * @param left aborts when the client goes
   * @throws CredentialRefusal 503 if too many wait already, or the client goes
   */
  async take(left: AbortSignal): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(left)
    return { [Symbol.dispose]: () => this.#giveBack() }
  }

  async #turn(left: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#mostWaiting)
      throw new CredentialRefusal(503, 'too many requests at once; wait for one to end')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      if (this.#waiting.delete(resolve)) reject(new CredentialRefusal(503, 'the client has gone'))
    }
    this.#waiting.add(resolve)
    left.addEventListener('abort', leave, { once: true })
    if (left.aborted) leave()
    await promise.finally(() => left.removeEventListener('abort', leave))
  }

  /** The slot passes to whoever has waited for longest. */
  #giveBack(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free += 1
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
