import { Loop, type Service } from '../../kit/service.ts'
import { findLeaseTimes } from '../../sessions/leases/lease-times.ts'
import { DatabaseUnavailable } from '../../storage/postgres/database-errors.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/**
 * A mirror that no Session, review or delivery has used for this long is removed, and fetched again when one needs it.
 */
const UNUSED_MS = 30 * 24 * HOUR_MS

/** Removes unused mirrors from this host. */
export class MirrorKeeper implements Service {
  readonly name = 'mirror-keeper'
  readonly #context: Pick<ExecutionContext, 'db' | 'clock' | 'log' | 'host' | 'mirrors'>
  readonly #stopping = new AbortController()
  readonly #loop: Loop

  constructor(context: Pick<ExecutionContext, 'db' | 'clock' | 'log' | 'host' | 'mirrors'>) {
    this.#context = context
    this.#loop = new Loop(
      () => this.#tidy(),
      HOUR_MS,
      error => {
        if (this.#stopping.signal.aborted) return
        if (error instanceof DatabaseUnavailable)
          context.log.warn({ err: error }, 'tidying mirrors waits for the database')
        else context.log.error({ err: error }, 'tidying mirrors failed')
      },
    )
  }

  async start(): Promise<void> {
    this.#loop.wake()
  }

  async drain(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'))
    await this.#loop[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  async #tidy(): Promise<void> {
    const { db, clock, host, log, mirrors } = this.#context
    const unusedSince = new Date(clock.now().getTime() - UNUSED_MS)
    const told = await mirrors.tidy({ unusedSince, readers: () => findLeaseTimes(db, host) }, this.#stopping.signal)
    if (told.setAside + told.deleted > 0) log.info(told, 'tidied the mirrors')
  }
}
