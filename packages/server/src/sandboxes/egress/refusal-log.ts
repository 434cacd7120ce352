/** Refusals of one sandbox that are logged in a minute; of the others only the count. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000

/** Tells the operator what a sandbox was refused: where it wanted to go, and neither path nor query. */
export class RefusalLog {
  readonly #warn: (fields: object, message: string) => void
  readonly #now: () => number
  #since = Number.NEGATIVE_INFINITY
  #count = 0

  /** @param now milliseconds of a clock that only goes on */
  constructor(log: { warn(fields: object, message: string): void }, now: () => number = () => performance.now()) {
    this.#warn = log.warn.bind(log)
    this.#now = now
  }

  add(host: string, port: number, reason: string): void {
    if (this.#now() - this.#since >= MINUTE_MS) {
      if (this.#count > PER_MINUTE)
        this.#warn({ refusals: this.#count - PER_MINUTE }, 'a sandbox was refused more often')
      this.#since = this.#now()
      this.#count = 0
    }
    this.#count++
    if (this.#count <= PER_MINUTE)
      this.#warn({ host: host.slice(0, 253), port, reason }, 'a sandbox was refused a way out')
  }
}
