import { systemClock } from '../../kit/clock.ts'
import { LoopingService } from '../../kit/looping-service.ts'
import type { WorkerContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/** Kept this long after its last use, since making it costs more than its disk space. */
const UNUSED_MS = 24 * HOUR_MS

type KeeperContext = Pick<WorkerContext, 'log' | 'extensions' | 'hosts'>

/**
 * Removes unpacked extensions and layers of system packages that no sandbox of its hosts shows any more, and downloads that
 * the catalog names no more.
 */
export class CacheKeeper extends LoopingService {
  override readonly name = 'cache-keeper'
  readonly #context: KeeperContext
  readonly #stopping = new AbortController()

  constructor(context: KeeperContext) {
    super(HOUR_MS)
    this.#context = context
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the service stops'))
    await super[Symbol.asyncDispose]()
  }

  protected async round(): Promise<void> {
    const { log, extensions, hosts } = this.#context
    const unusedSince = new Date(systemClock.now().getTime() - UNUSED_MS)
    const unpacked = await extensions.unpacked.tidy(unusedSince, this.#stopping.signal)
    const downloads = await extensions.catalog.tidy()
    let layers = 0
    for (const packages of new Set(hosts.held().map(host => host.packages)))
      layers += await packages.tidy(unusedSince, this.#stopping.signal)
    if (unpacked + layers + downloads > 0)
      log.info({ extensions: unpacked, layers, downloads }, 'removed what no sandbox uses')
  }

  protected failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return
    this.#context.log.warn({ err: error }, 'removing what no sandbox uses failed')
  }
}
