import { setTimeout as sleep } from 'node:timers/promises'
import { doublingMs } from '@berth/platform/kit/backoff.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { ClusterError } from '../api/cluster-error.ts'

const LEAST_MS = 1_000
const MOST_MS = 30_000

/** Whether a refusal may pass by itself: the API server is away, broken or has too much to do. */
export const passes = (error: unknown): boolean =>
  error instanceof ClusterError &&
  (error.status === null || error.status === 408 || error.status === 429 || error.status >= 500)

/** How long to leave an API server alone, for everything that asks it. */
export class Patience {
  readonly #clock: Clock
  readonly #leastMs: number
  #failures = 0
  #until = 0

  constructor(clock: Clock, leastMs: number = LEAST_MS) {
    this.#clock = clock
    this.#leastMs = leastMs
  }

  /** Time that is left of the pause. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#clock.now().getTime())
  }

  /** Notes a failure that passes. What the API server says of the pause counts, if it is longer than ours. */
  failed(error: unknown): void {
    this.#failures += 1
    const requestedMs = error instanceof ClusterError ? (error.retryAfterMs ?? 0) : 0
    const pause = Math.max(requestedMs, doublingMs(this.#failures, this.#leastMs, MOST_MS))
    this.#until = Math.max(this.#until, this.#clock.now().getTime() + pause)
  }

  succeeded(): void {
    this.#failures = 0
  }

  async wait(signal: AbortSignal): Promise<void> {
    while (this.leftMs > 0 && !signal.aborted) await sleep(this.leftMs, undefined, { signal }).catch(() => undefined)
  }
}
