import { systemClock } from '@berth/platform/kit/clock.ts'
import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import type { WorkerContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/** Kept this long after its last use, since making it costs more than its disk space. */
const UNUSED_MS = 24 * HOUR_MS

type KeeperContext = Pick<WorkerContext, 'log' | 'extensions' | 'hosts'>

/**
 * Removes unpacked extensions and layers of system packages that no sandbox of its hosts shows any more, and downloads that
 * the catalog names no more.
 */
export class CacheKeeper implements PeriodicTask {
  readonly name = 'cache-keeper'
  readonly intervalMs = HOUR_MS
  readonly #context: KeeperContext

  constructor(context: KeeperContext) {
    this.#context = context
  }

  async round(stopping: AbortSignal): Promise<void> {
    const { log, extensions, hosts } = this.#context
    const unusedSince = new Date(systemClock.now().getTime() - UNUSED_MS)
    const unpacked = await extensions.unpacked.tidy(unusedSince, stopping)
    const downloads = await extensions.catalog.tidy()
    let layers = 0
    for (const packages of new Set(hosts.held().map(host => host.packages)))
      layers += await packages.tidy(unusedSince, stopping)
    if (unpacked + layers + downloads > 0)
      log.info({ extensions: unpacked, layers, downloads }, 'removed what no sandbox uses')
  }

  failed(error: unknown, stopping: AbortSignal): void {
    if (stopping.aborted) return
    this.#context.log.warn({ err: error }, 'removing what no sandbox uses failed')
  }
}
