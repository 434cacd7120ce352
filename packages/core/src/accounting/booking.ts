import { backoffMs } from '@berth/platform/kit/backoff.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { keepRequests, type RequestRecord } from './gateway-request-sql.ts'

interface Waiting {
  readonly record: RequestRecord
  readonly kept: PromiseWithResolvers<void>
}

const maxBatch = 500
const maxWaiting = 10_000
const gatherMs = 20
const retryMs = 500
/** Short enough that a stop does not wait long for a database that is away. */
const longestRetryMs = 2_000
const closeMs = 5_000

/**
 * Stores the usage of requests in batches.
 *
 * A request with an API key is answered before its usage is stored, so a killed process loses some milliseconds of
 * usage. A Run's usage is stored before its answer ends. While the
 * database is away, records queue. Beyond `maxWaiting` the gateway refuses requests, because it could not account for
 * them.
 *
 * A settlement updates a row that is already `open` on disk, so callers wait only until it is visible. If the database
 * crashes before the settlement reaches the disk, the row still says that the cost is unknown. The end of the Run
 * forces it to disk in any case.
 */
export class Booking implements AsyncDisposable {
  readonly #lasting: Lane
  readonly #settling: Lane

  constructor(db: Database, clock: Clock, onError: (error: unknown) => void) {
    this.#lasting = new Lane(records => db.transaction(tx => keepRequests(tx, records, clock.now())), onError)
    this.#settling = new Lane(
      records => db.transaction(tx => keepRequests(tx, records, clock.now(), { flushed: false })),
      onError,
    )
  }

  get isFull(): boolean {
    return this.#lasting.size + this.#settling.size >= maxWaiting
  }

  /** Resolves when the record is on disk. A later record of the same request replaces one that still waits. */
  keep(record: RequestRecord): Promise<void> {
    return this.#lasting.keep(record, record.runId !== null)
  }

  /** Resolves when the settlement of a request is visible; the request's row must be on disk already. */
  settle(record: RequestRecord): Promise<void> {
    return this.#settling.keep(record, true)
  }

  /** Stores the waiting records, for at most `closeMs`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#lasting.close(), this.#settling.close()])
  }
}

/**
 * Stores many records in one statement. Records that arrive during a statement, or within `gatherMs` after it, share
 * the next.
 */
class Lane {
  readonly #keepAll: (records: readonly RequestRecord[]) => Promise<void>
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Map<string, Waiting>()
  #running: Promise<void> | null = null
  #urgent = false
  #hurry = () => {}
  #closing = false

  constructor(keepAll: (records: readonly RequestRecord[]) => Promise<void>, onError: (error: unknown) => void) {
    this.#keepAll = keepAll
    this.#onError = onError
  }

  get size(): number {
    return this.#waiting.size
  }

  /** @param urgent whether a caller waits for the record */
  keep(record: RequestRecord, urgent: boolean): Promise<void> {
    const before = this.#waiting.get(record.id)
    const kept = before?.kept ?? Promise.withResolvers<void>()
    this.#waiting.set(record.id, { record, kept })
    if (urgent) this.#beUrgent()
    this.#running ??= this.#run()
    return kept.promise
  }

  async close(): Promise<void> {
    const cut = setTimeout(() => {
      this.#closing = true
    }, closeMs)
    this.#beUrgent()
    await this.#running
    clearTimeout(cut)
  }

  async #run(): Promise<void> {
    // Let writes to providers and clients go first: the statement wakes the database, which then takes the processor.
    // Two turns, because a write to an idle provider connection happens one turn later.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    let failures = 0
    while (this.#waiting.size > 0 && !this.#closing) {
      const batch = [...this.#waiting.values()].slice(0, maxBatch)
      for (const { record } of batch) this.#waiting.delete(record.id)
      this.#urgent &&= this.#waiting.size > 0
      try {
        await this.#keepAll(batch.map(({ record }) => record))
        failures = 0
        for (const { kept } of batch) kept.resolve()
        if (this.#waiting.size < maxBatch && !this.#urgent) await this.#gather()
      } catch (error) {
        this.#onError(error)
        this.#putBack(batch)
        failures += 1
        await new Promise(wait => setTimeout(wait, backoffMs(failures, retryMs, longestRetryMs)))
      }
    }
    this.#running = null
  }

  #beUrgent(): void {
    this.#urgent = true
    this.#hurry()
  }

  /** Waits for more records, until a caller waits for one of them. */
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
