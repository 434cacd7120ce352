import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import type { StreamLedger } from './stream-ledger.ts'

/** A place in the budget, held while a stream is open. */
export interface StreamPlace extends Disposable {}

/** Seconds after which a client should retry a refused open. */
const RETRY_SECONDS = 2

/**
 * Bounds the streams that are open at once, event streams and change feeds together: those of this process, and those
 * of each authority in all processes.
 */
export class StreamBudget {
  readonly #ledger: Pick<StreamLedger, 'take' | 'giveBack' | 'isSpentLocally'>
  readonly #perProcess: number
  #total = 0

  constructor(ledger: Pick<StreamLedger, 'take' | 'giveBack' | 'isSpentLocally'>, perProcess: number) {
    this.#ledger = ledger
    this.#perProcess = perProcess
  }

  get open(): number {
    return this.#total
  }

  /**
   * Takes a place for one stream.
   * @throws ApiError 429 `cloud_rate_limit_exceeded` or 503 `event_stream_unavailable`, both with `Retry-After`
   * @throws DatabaseUnavailable
   */
  async take({ kind, id, organizationId }: Principal): Promise<StreamPlace> {
    const authority = `${kind}/${organizationId}/${id}`
    if (this.#ledger.isSpentLocally(authority)) throw spent()
    if (this.#total >= this.#perProcess) throw refusal('event_stream_unavailable')
    this.#total += 1
    const taken = await this.#ledger.take(authority).catch(error => {
      this.#total -= 1
      throw error
    })
    if (!taken) {
      this.#total -= 1
      throw spent()
    }
    let returned = false
    return {
      [Symbol.dispose]: () => {
        if (returned) return
        returned = true
        this.#total -= 1
        this.#ledger.giveBack(authority)
      },
    }
  }
}

const spent = () => refusal('cloud_rate_limit_exceeded', { retryAfterSeconds: RETRY_SECONDS }, RETRY_SECONDS)
