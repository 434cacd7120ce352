import { findLeaseTimes } from '@berth/core/sessions/leases/lease-times.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import type { WorkerContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/**
 * A mirror that no Session, review or delivery has used for this long is removed, and fetched again when one needs it.
 */
const UNUSED_MS = 30 * 24 * HOUR_MS

/** Removes unused mirrors from this machine. */
export class MirrorKeeper implements PeriodicTask {
  readonly name = 'mirror-keeper'
  readonly intervalMs = HOUR_MS
  readonly #context: Pick<WorkerContext, 'db' | 'log' | 'hosts'>

  constructor(context: Pick<WorkerContext, 'db' | 'log' | 'hosts'>) {
    this.#context = context
  }

  async round(stopping: AbortSignal): Promise<void> {
    const { db, hosts, log } = this.#context
    const unusedSince = new Date(systemClock.now().getTime() - UNUSED_MS)
    // Hosts that dial in borrow from the mirrors of this machine.
    const readers = () => findLeaseTimes(db, hosts.ids())
    for (const mirrors of new Set(hosts.held().map(host => host.mirrors))) {
      const counts = await mirrors.tidy({ unusedSince, readers }, stopping)
      if (counts.setAside + counts.deleted > 0) log.info(counts, 'tidied the mirrors')
    }
  }

  failed(error: unknown, stopping: AbortSignal): void {
    if (stopping.aborted) return
    logFailure(this.#context.log, error, {
      waiting: 'tidying mirrors waits for the database',
      failed: 'tidying mirrors failed',
    })
  }
}
