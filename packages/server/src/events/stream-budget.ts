import { refusal } from '../api-errors.ts'
import type { Principal } from '../identity/principal.ts'

/** Streams that may be open at once, event streams and change feeds together (interface 8.4). */
export interface StreamAllowance {
  readonly perAuthority: number
  readonly perProcess: number
}

/** A place in the budget, held while a stream is open. */
export interface StreamPlace extends Disposable {}

/** Seconds after which a refused open is worth another try. */
const RETRY_SECONDS = 2

/** Counts the open streams of this process. */
export class StreamBudget {
  readonly #allowance: StreamAllowance
  readonly #open = new Map<string, number>()
  #total = 0

  constructor(allowance: StreamAllowance) {
    this.#allowance = allowance
  }

  get open(): number {
    return this.#total
  }

  /** @throws ApiError 429 `cloud_rate_limit_exceeded` or 503 `event_stream_unavailable`, both with `Retry-After` */
  take({ kind, id, organizationId }: Principal): StreamPlace {
    const authority = `${kind}/${organizationId}/${id}`
    const held = this.#open.get(authority) ?? 0
    if (held >= this.#allowance.perAuthority) {
      throw refusal('cloud_rate_limit_exceeded', { retryAfterSeconds: RETRY_SECONDS }, RETRY_SECONDS)
    }
    if (this.#total >= this.#allowance.perProcess) throw refusal('event_stream_unavailable')
    this.#open.set(authority, held + 1)
    this.#total += 1
    let returned = false
    return {
      [Symbol.dispose]: () => {
        if (returned) return
        returned = true
        this.#total -= 1
        const left = (this.#open.get(authority) ?? 1) - 1
        if (left > 0) this.#open.set(authority, left)
        else this.#open.delete(authority)
      },
    }
  }
}
