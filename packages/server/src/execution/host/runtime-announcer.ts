import { LoopingService } from '../../kit/looping-service.ts'
import { ANNOUNCE_MS, announceHost } from '../../runtimes/runtime-hosts.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** Announces the runtimes of this worker's host to the deployment, including those installed while it serves. */
export class RuntimeAnnouncer extends LoopingService {
  override readonly name = 'runtime announcer'
  readonly #context: ExecutionContext

  constructor(context: ExecutionContext) {
    super(ANNOUNCE_MS)
    this.#context = context
  }

  /** Waits for the first announcement, so the next request finds the runtimes. */
  override async start(): Promise<void> {
    await this.round()
    await super.start()
  }

  protected round(): Promise<void> {
    const { db, host, runtimes, limits, clock } = this.#context
    return announceHost(db, { name: host, runtimes: runtimes.installed, patienceMs: limits.hostLostMs }, clock.now())
  }

  protected failed(error: unknown): void {
    this.#context.log.warn({ err: error }, 'the runtimes of this host could not be announced')
  }
}
