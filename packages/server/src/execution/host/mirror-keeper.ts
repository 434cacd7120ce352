import { systemClock } from '../../kit/clock.ts'
import { LoopingService } from '../../kit/looping-service.ts'
import { findLeaseTimes } from '../../sessions/leases/lease-times.ts'
import { logFailure } from '../../storage/postgres/log-failure.ts'
import type { WorkerContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/**
 * A mirror that no Session, review or delivery has used for this long is removed, and fetched again when one needs it.
 */
const UNUSED_MS = 30 * 24 * HOUR_MS

/** Removes unused mirrors from this machine. */
export class MirrorKeeper extends LoopingService {
  override readonly name = 'mirror-keeper'
  readonly #context: Pick<WorkerContext, 'db' | 'log' | 'hosts'>
  readonly #stopping = new AbortController()

  constructor(context: Pick<WorkerContext, 'db' | 'log' | 'hosts'>) {
    super(HOUR_MS)
    this.#context = context
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the service stops'))
    await super[Symbol.asyncDispose]()
  }

  protected async round(): Promise<void> {
    const { db, hosts, log } = this.#context
    const unusedSince = new Date(systemClock.now().getTime() - UNUSED_MS)
    // Hosts that dial in borrow from the mirrors of this machine.
    const readers = () => findLeaseTimes(db, hosts.ids())
    for (const mirrors of new Set(hosts.held().map(host => host.mirrors))) {
      const told = await mirrors.tidy({ unusedSince, readers }, this.#stopping.signal)
      if (told.setAside + told.deleted > 0) log.info(told, 'tidied the mirrors')
    }
  }

  protected failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return
    logFailure(this.#context.log, error, {
      waiting: 'tidying mirrors waits for the database',
      failed: 'tidying mirrors failed',
    })
  }
}
