import { BerthError } from './error.ts'
import { backoffMs } from './retry.ts'

const backoff = { baseDelayMs: 500, maxDelayMs: 30_000 }
const defaultRetryMs = 500
/** A server's `retry:` beyond this is a mistake; its own longest is half of it. */
const maxRetryMs = 60_000

/**
 * How long a follower waits before it subscribes again. After a connection that was of use and that the server ended in its
 * own time, its `retry:` is all. After a fault a random part is added, so that followers cut off together do not come back
 * together; and connections that come to nothing, however politely they end, are spaced ever wider.
 */
export class ReconnectPace {
  readonly #random: () => number
  #retryMs = defaultRetryMs
  #failures = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Connections in a row that came to nothing. */
  get failures(): number {
    return this.#failures
  }

  /** The delay after a connection has ended, by a fault or (null) by the server's own decision. */
  after(outcome: { readonly useful: boolean; readonly retryMs: number | null; readonly fault: unknown }): number {
    if (outcome.retryMs !== null) this.#retryMs = Math.min(outcome.retryMs, maxRetryMs)
    this.#failures = outcome.useful ? 0 : this.#failures + 1
    const routine = outcome.useful && outcome.fault === null
    const spreadMs = routine ? 0 : backoffMs(Math.max(0, this.#failures - 1), backoff, this.#random())
    const askedMs = outcome.fault instanceof BerthError ? (outcome.fault.retryAfterSeconds ?? 0) * 1000 : 0
    return Math.max(this.#retryMs, askedMs) + spreadMs
  }
}
