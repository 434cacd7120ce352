import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../kit/clock.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { forgetRecords } from './record-sql.ts'

const PAUSE_MS = 3_600_000

/** Deletes the provider's expired records each hour. Reading ignores them already, so nothing waits for this. */
export class RecordSweeper implements AsyncDisposable {
  readonly #stop = new AbortController()
  readonly #sweeping: Promise<void>

  constructor(db: Queryable, clock: Clock, onFault: (error: unknown) => void) {
    this.#sweeping = this.#sweepOn(() => forgetRecords(db, clock.now()).catch(onFault))
  }

  async #sweepOn(sweep: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await sweep()
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#sweeping
  }
}
