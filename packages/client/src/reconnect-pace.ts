import { BerthError } from './error.ts'
import { backoffMs } from './retry.ts'

const baseDelayMs = 500
const defaultMaxDelayMs = 30_000
const defaultRetryMs = 500
/** A server's `retry:` beyond this is a mistake; the service's own longest is half of it. */
const maxRetryMs = 60_000

/**
 * Computes how long a follower waits before it subscribes again. After a useful connection that the server ended by
 * itself, it waits only the server's `retry:`. After a fault it adds a random part, so that followers cut off together
 * do not return together. Useless connections are spaced ever wider, even if the server ended them properly.
 */
export class ReconnectPace {
  readonly #random: () => number
  readonly #maxDelayMs: number
  #retryMs = defaultRetryMs
  #failures = 0

  /** @param maxDelayMs bound of the spacing; the server may ask for more */
  constructor(random: () => number, maxDelayMs = defaultMaxDelayMs) {
    this.#random = random
    this.#maxDelayMs = maxDelayMs
  }

  /** Number of useless connections in a row. */
  get failures(): number {
    return this.#failures
  }

  /** Returns the delay after a connection that ended by a fault, or (null) by the server's own decision. */
  after(outcome: { readonly useful: boolean; readonly retryMs: number | null; readonly fault: unknown }): number {
    if (outcome.retryMs !== null) this.#retryMs = Math.min(outcome.retryMs, maxRetryMs)
    this.#failures = outcome.useful ? 0 : this.#failures + 1
    const routine = outcome.useful && outcome.fault === null
    const bounds = { baseDelayMs, maxDelayMs: this.#maxDelayMs }
    const spreadMs = routine ? 0 : backoffMs(Math.max(0, this.#failures - 1), bounds, this.#random())
    const requestedMs = outcome.fault instanceof BerthError ? (outcome.fault.retryAfterSeconds ?? 0) * 1000 : 0
    return Math.max(this.#retryMs, requestedMs) + spreadMs
  }
}
