import { ownCredentials } from '@berth/platform/kit/redactor.ts'

/** Refusals of one sandbox that are logged per minute; of further ones only the count is logged. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000
/** No name of a host is longer. */
const HOST_CHARACTERS = 253
const REASON_CHARACTERS = 500

/** Returns a text without the secrets that are known of a sandbox; without one, credentials are known by their form. */
export type Mask = ((text: string) => Promise<string>) | undefined

/** Logs the refused targets of a sandbox for the operator, without path or query. */
export class RefusalLog {
  readonly #warn: (fields: object, message: string) => void
  readonly #mask: () => Mask
  readonly #now: () => number
  #since = Number.NEGATIVE_INFINITY
  #count = 0

  /**
   * @param mask returns what masks a host and a reason, which may hold what a program has put there
   * @param now milliseconds of a monotonic clock
   */
  constructor(
    log: { warn(fields: object, message: string): void },
    mask: () => Mask,
    now: () => number = () => performance.now(),
  ) {
    this.#warn = log.warn.bind(log)
    this.#mask = mask
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
    if (this.#count <= PER_MINUTE) void this.#tell(host, port, reason)
  }

  /** Masks before it cuts: half a secret is no secret that anybody would find. What cannot be masked is left out. */
  async #tell(host: string, port: number, reason: string): Promise<void> {
    const mask = this.#mask() ?? (async text => ownCredentials.anyCase(text))
    const told = await Promise.all([mask(host), mask(reason)]).then(
      ([name, why]) => ({ host: name.slice(0, HOST_CHARACTERS), port, reason: why.slice(0, REASON_CHARACTERS) }),
      (err: unknown) => ({ port, err }),
    )
    this.#warn(told, 'refused a connection of a sandbox')
  }
}
