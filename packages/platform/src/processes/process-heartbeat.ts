import type { Log } from '../kit/log.ts'
import { LoopingService } from '../kit/looping-service.ts'
import type { Queryable } from '../storage/postgres/database.ts'
import { logFailure } from '../storage/postgres/log-failure.ts'
import { hearProcess, leaveProcess, type ProcessIdentity } from './process-sql.ts'

/**
 * Keeps the row of a process: one written row each time, however much the process holds.
 *
 * The row decides when others may take over, and nothing else. Every write of a holder proves its fence token, so a
 * process that was silent for too long, or believes in another time, can write nothing that it no longer holds.
 */
export class ProcessHeartbeat extends LoopingService {
  override readonly name = 'process-heartbeat'
  readonly #db: Queryable
  readonly #log: Log
  readonly #process: ProcessIdentity
  readonly #heard: (late: boolean) => Promise<void>

  /** @param heard called after each write; `late` if others may have taken over what this process holds */
  constructor(
    { db, log }: { readonly db: Queryable; readonly log: Log },
    process: ProcessIdentity,
    heard: (late: boolean) => Promise<void> = () => Promise.resolve(),
  ) {
    super(process.patienceMs / 4)
    this.#db = db
    this.#log = log
    this.#process = process
    this.#heard = heard
  }

  /** Stops, and lets others take over at once. If the database is away, the row lapses by itself. */
  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await leaveProcess(this.#db, this.#process.id).catch(error => this.failed(error))
  }

  protected async round(): Promise<void> {
    await this.#heard(await hearProcess(this.#db, this.#process))
  }

  protected failed(error: unknown): void {
    logFailure(this.#log, error, {
      waiting: 'the heartbeat of this process waits for the database',
      failed: 'the heartbeat of this process failed',
    })
  }
}
