import type { Log } from '@berth/platform/kit/log.ts'
import { Loop } from '@berth/platform/kit/loop.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { isSuccess } from './delivery.ts'
import { type EndpointNews, type Finished, finishDeliveries } from './delivery-sql.ts'

/** Most outcomes of one statement. */
const AT_ONCE = 256

/**
 * Writes outcomes: those that arrive while a statement is under way go with the next one. If the database is away they
 * wait for it; should their claims lapse meanwhile, the receiver gets the Event once more.
 */
export class OutcomeWriter implements AsyncDisposable {
  readonly #db: Database
  readonly #waiting: Finished[] = []
  readonly #written: (claims: readonly string[]) => void
  readonly #loop: Loop

  /** @param written is told of the claims that this process holds no more */
  constructor(db: Database, log: Log, retryMs: number, written: (claims: readonly string[]) => void) {
    this.#db = db
    this.#written = written
    this.#loop = new Loop(
      () => this.#write(),
      retryMs,
      error =>
        logFailure(log, error, {
          waiting: 'outcomes of webhooks wait for the database',
          failed: 'outcomes of webhooks could not be written; the next round tries again',
        }),
    )
  }

  add(finished: Finished): void {
    this.#waiting.push(finished)
    this.#loop.wake()
  }

  /** Writes what is left, once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await this.#write().catch(() => undefined)
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, AT_ONCE)
      await finishDeliveries(this.#db, batch, newsOf(batch))
      this.#waiting.splice(0, batch.length)
      this.#written(batch.map(({ claim }) => claim))
    }
  }
}

/** Sums up attempts, which are in the order of their ends, for each endpoint. */
function newsOf(batch: readonly Finished[]): readonly EndpointNews[] {
  const news = new Map<string, EndpointNews>()
  for (const { endpointId: id, attempt, endedAt } of batch) {
    if (attempt === null || attempt.error === 'authority') continue
    const before = news.get(id) ?? { id, succeededAt: null, failures: 0, lastFailure: null }
    const { status, error } = attempt
    const failed = { at: endedAt, status: status ?? null, error: error ?? null }
    const succeeded = status !== undefined && isSuccess({ status })
    news.set(
      id,
      succeeded
        ? { ...before, succeededAt: endedAt, failures: 0 }
        : { ...before, failures: before.failures + 1, lastFailure: failed },
    )
  }
  return [...news.values()]
}
