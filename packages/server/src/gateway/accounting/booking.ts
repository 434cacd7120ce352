import type { Clock } from '../../kit/clock.ts'
import type { Database } from '../../storage/postgres/database.ts'
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
 * Keeps what requests used. A request of a key is answered without waiting for it, so a process that is killed loses
 * what it has not yet kept: some milliseconds' worth. A Run's is kept at once, and before its answer ends, or before its
 * Run asks again or ends. While the database is away records wait, up to a bound beyond which the gateway takes no more
 * requests: nothing is served that could not be accounted.
 *
 * What settles a request whose row is there, `open` and on disk, is waited for only until all see it. Should the database
 * crash in the moment before it is on disk too, the row says that the cost is not known, and a Run that has ended since
 * has taken it to disk with its own end.
 */
export class Booking implements AsyncDisposable {
  readonly #lasting: Lane
  readonly #settling: Lane

  constructor(db: Database, clock: Clock, onError: (error: unknown) => void) {
    this.#lasting = new Lane(records => keepRequests(db, records, clock.now()), onError)
    this.#settling = new Lane(records => keepRequests(db, records, clock.now(), { flushed: false }), onError)
  }

  get isFull(): boolean {
    return this.#lasting.size + this.#settling.size >= maxWaiting
  }

  /**
   * Resolves once the record is kept, on disk. A later record of the same request takes the place of one that still
   * waits.
   */
  keep(record: RequestRecord): Promise<void> {
    return this.#lasting.keep(record, record.runId !== null)
  }

  /** Resolves once the end of a request is kept whose row was kept before. */
  settle(record: RequestRecord): Promise<void> {
    return this.#settling.keep(record, true)
  }

  /** Resolves once all is kept that was to be settled of a Run so far; null where nothing is. */
  settled(runId: string): Promise<unknown> | null {
    return this.#settling.keptOf(runId)
  }

  /** Keeps what waits, within a bound. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#lasting.close(), this.#settling.close()])
  }
}

/** Keeps many records in one statement: whatever comes while one is under way, or within a moment after it, goes next. */
class Lane {
  readonly #keepAll: (records: readonly RequestRecord[]) => Promise<void>
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Map<string, Waiting>()
  /** What the statement under way keeps. */
  #batch: readonly Waiting[] = []
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

  /** @param urgent whether somebody waits for it */
  keep(record: RequestRecord, urgent: boolean): Promise<void> {
    const before = this.#waiting.get(record.id)
    const kept = before?.kept ?? Promise.withResolvers<void>()
    this.#waiting.set(record.id, { record, kept })
    if (urgent) this.#beUrgent()
    this.#running ??= this.#run()
    return kept.promise
  }

  /** Resolves once nothing of a Run's that is here now waits; null where nothing does. */
  keptOf(runId: string): Promise<unknown> | null {
    const waiting = [...this.#batch, ...this.#waiting.values()].filter(({ record }) => record.runId === runId)
    return waiting.length === 0 ? null : Promise.all(waiting.map(({ kept }) => kept.promise))
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
    // What is to go to a provider or a client goes first: sending a statement wakes the database, which takes the processor
    // for itself. A connection to a provider that was at rest is written to a turn of the loop later.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    while (this.#waiting.size > 0 && !this.#closing) {
      const batch = [...this.#waiting.values()].slice(0, maxBatch)
      for (const { record } of batch) this.#waiting.delete(record.id)
      this.#batch = batch
      this.#urgent &&= this.#waiting.size > 0
      try {
        await this.#keepAll(batch.map(({ record }) => record))
        for (const { kept } of batch) kept.resolve()
        this.#batch = []
        if (this.#waiting.size < maxBatch && !this.#urgent) await this.#gather()
      } catch (error) {
        this.#onError(error)
        this.#putBack(batch)
        this.#batch = []
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
