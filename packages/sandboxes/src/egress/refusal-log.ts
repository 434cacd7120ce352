/** Refusals of one sandbox that are logged per minute; of further ones only the count is logged. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000

/** Logs the refused targets of a sandbox for the operator, without path or query. */
export class RefusalLog {
  readonly #warn: (fields: object, message: string) => void
  readonly #now: () => number
  #since = Number.NEGATIVE_INFINITY
  #count = 0

  /** @param now milliseconds of a monotonic clock */
  constructor(log: { warn(fields: object, message: string): void }, now: () => number = () => performance.now()) {
    this.#warn = log.warn.bind(log)
    this.#now = now
  }

  add(host: string, port: number, reason: string): void {
    if (this.#now() - this.#since >= MINUTE_MS) {
      if (this.#count > PER_MINUTE)
        this.#warn({ refusals: this.#count - PER_MINUTE }, 'refused further connections of a sandbox')
      this.#since = this.#now()
      this.#count = 0
    }
    this.#count++
    if (this.#count <= PER_MINUTE)
      this.#warn({ host: host.slice(0, 253), port, reason: reason.slice(0, 500) }, 'refused a connection of a sandbox')
  }
}
