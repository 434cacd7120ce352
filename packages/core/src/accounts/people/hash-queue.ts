import { refusal } from '@berth/platform/kit/refusal.ts'

/**
 * Runs at most `atOnce` jobs, lets a few wait, and refuses the rest. Hashing a password holds a thread of the pool that
 * files and name lookups share: four at once delayed a `stat` by 150 to 340 ms.
 */
export class HashQueue {
  readonly #atOnce: number
  readonly #mostWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor({ atOnce, mostWaiting }: { readonly atOnce: number; readonly mostWaiting: number }) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /**
   * Runs a job, or waits for a place.
   * @throws ApiError 503 `service_unavailable` if too many jobs wait already
   */
  async run<Result>(job: () => Promise<Result>): Promise<Result> {
    if (this.#running === this.#atOnce) {
      if (this.#waiting.length >= this.#mostWaiting) throw refusal('service_unavailable')
      // A job that ends hands its place over directly, so no later job can take it first.
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    } else this.#running += 1
    try {
      return await job()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
