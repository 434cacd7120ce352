import { LoopingService } from '../../kit/looping-service.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

const HOUR_MS = 60 * 60_000
/** Kept this long after the last sandbox that may use it, since unpacking costs more than its disk space. */
const UNUSED_MS = 24 * HOUR_MS

type KeeperContext = Pick<ExecutionContext, 'clock' | 'log' | 'limits' | 'extensions'>

/**
 * Removes unpacked extensions that no sandbox of this host can use any more. Each use is noted when a sandbox is made,
 * and a sandbox lives no longer than its lease.
 */
export class ExtensionKeeper extends LoopingService {
  override readonly name = 'extension-keeper'
  readonly #context: KeeperContext

  constructor(context: KeeperContext) {
    super(HOUR_MS)
    this.#context = context
  }

  protected async round(): Promise<void> {
    const { clock, log, limits, extensions } = this.#context
    const unusedSince = new Date(clock.now().getTime() - limits.leaseMaxMs - UNUSED_MS)
    const deleted = await extensions.unpacked.tidy(unusedSince)
    if (deleted > 0) log.info({ deleted }, 'removed unpacked extensions that no sandbox uses')
  }

  protected failed(error: unknown): void {
    this.#context.log.warn({ err: error }, 'removing unpacked extensions failed')
  }
}
