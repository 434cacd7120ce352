import type { Clock } from '../../clock.ts'
import type { Database } from '../../storage/database.ts'
import { keepRequests, type RequestRecord } from './gateway-request-sql.ts'

interface Waiting {
  readonly record: RequestRecord
  readonly kept: PromiseWithResolvers<void>
}

const maxBatch = 500
const maxWaiting = 10_000
const gatherMs = 20
const retryMs = 500
const closeMs = 5_000

/**
 * Keeps what requests used, many in one statement: whatever comes while a statement is under way, or within a moment
 * after it, goes with the next. A request of a key is answered without waiting for it, so a process that is killed loses
 * what it has not yet kept: some milliseconds' worth. A Run's is kept at once, and before its answer ends. While the database is away records wait, up to a bound
 * beyond which the gateway takes no more requests: nothing is served that could not be accounted.
 */
export class Booking implements AsyncDisposable {
  readonly #db: Database
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Map<string, Waiting>()
  #running: Promise<void> | null = null
  #urgent = false
  #hurry = () => {}
  #closing = false

  constructor(db: Database, clock: Clock, onError: (error: unknown) => void) {
    this.#db = db
    this.#clock = clock
    this.#onError = onError
  }

  get isFull(): boolean {
    return this.#waiting.size >= maxWaiting
  }

  /** Resolves once the record is kept. A later record of the same request takes the place of one that still waits. */
  keep(record: RequestRecord): Promise<void> {
    const before = this.#waiting.get(record.id)
    const kept = before?.kept ?? Promise.withResolvers<void>()
    this.#waiting.set(record.id, { record, kept })
    if (record.runId !== null) this.#beUrgent()
    this.#running ??= this.#run()
    return kept.promise
  }

  /** Keeps what waits, within a bound. */
  async [Symbol.asyncDispose](): Promise<void> {
    const cut = setTimeout(() => {
      this.#closing = true
    }, closeMs)
    this.#beUrgent()
    await this.#running
    clearTimeout(cut)
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#closing) {
      const batch = [...this.#waiting.values()].slice(0, maxBatch)
      for (const { record } of batch) this.#waiting.delete(record.id)
      this.#urgent &&= this.#waiting.size > 0
      try {
        const records = batch.map(({ record }) => record)
        await keepRequests(this.#db, records, this.#clock.now())
        for (const { kept } of batch) kept.resolve()
        if (this.#waiting.size < maxBatch && !this.#urgent) await this.#gather()
      } catch (error) {
        this.#onError(error)
        this.#putBack(batch)
        await new Promise(wait => setTimeout(wait, retryMs))
      }
    }
    this.#running = null
  }

  #beUrgent(): void {
    this.#urgent = true
    this.#hurry()
  }

  /** Waits for more, until somebody waits for what is there. */
  #gather(): Promise<void> {
    return new Promise(resolve => {
      const wait = setTimeout(resolve, gatherMs)
      this.#hurry = () => {
        clearTimeout(wait)
        resolve()
      }
    })
  }

  #putBack(batch: readonly Waiting[]): void {
    for (const waiting of batch) {
      const later = this.#waiting.get(waiting.record.id)
      if (later === undefined) this.#waiting.set(waiting.record.id, waiting)
      else later.kept.promise.then(waiting.kept.resolve, waiting.kept.reject)
    }
  }
}
