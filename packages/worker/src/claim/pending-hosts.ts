import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import type { Answer } from './host-wait.ts'

interface Waiting {
  readonly answer: Promise<Answer>
  readonly abort: AbortController
  connections: number
}

/** The hosts that connections of one sandbox wait for: all connections to one host and port share a wait. */
export class PendingHosts {
  readonly #waiting = new Map<string, Waiting>()

  get size(): number {
    return this.#waiting.size
  }

  /**
   * Returns the answer about a host. The shared wait ends with the last connection that waits for it.
   * @param begin begins the wait of the first connection
   * @throws the error of the wait, or the signal's reason
   */
  async answer(
    destination: string,
    signal: AbortSignal,
    begin: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const waiting = this.#waiting.get(destination) ?? this.#begin(destination, begin)
    waiting.connections += 1
    try {
      return await orAborted(waiting.answer, signal)
    } finally {
      waiting.connections -= 1
      if (waiting.connections === 0) {
        if (this.#waiting.get(destination) === waiting) this.#waiting.delete(destination)
        waiting.abort.abort()
      }
    }
  }

  /** Ends all waits, since the work that they belong to is over. */
  end(reason: Error): void {
    for (const { abort } of this.#waiting.values()) abort.abort(reason)
    this.#waiting.clear()
  }

  #begin(destination: string, begin: (signal: AbortSignal) => Promise<Answer>): Waiting {
    const abort = new AbortController()
    const answer = begin(abort.signal)
    // Whoever comes once it is there begins another wait, which reads the rows again.
    const forget = () => this.#waiting.get(destination) === waiting && this.#waiting.delete(destination)
    const waiting: Waiting = { answer, abort, connections: 0 }
    answer.then(forget, forget)
    this.#waiting.set(destination, waiting)
    return waiting
  }
}
