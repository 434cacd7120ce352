import { ANNOUNCE_MS, announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { LoopingService } from '@berth/platform/kit/looping-service.ts'
import type { WorkerContext } from '../claim/execution-context.ts'

/** Announces the hosts that this process holds to the deployment, with their runtimes, including those installed while it serves. */
export class RuntimeAnnouncer extends LoopingService {
  override readonly name = 'runtime announcer'
  readonly #context: WorkerContext
  #unsubscribe = () => {}

  constructor(context: WorkerContext) {
    super(ANNOUNCE_MS)
    this.#context = context
  }

  /** Waits for the first announcement, so the next request finds the runtimes. */
  override async start(): Promise<void> {
    await this.round()
    await super.start()
    this.#unsubscribe = this.#context.hosts.subscribe(change => {
      if ('added' in change) this.wake()
    })
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#unsubscribe()
    await super[Symbol.asyncDispose]()
  }

  protected async round(): Promise<void> {
    const { db, hosts, runtimes, limits, clock } = this.#context
    for (const { id, driver, packages, installed } of hosts.held()) {
      const about = { runtimes: installed?.() ?? runtimes.installed, patienceMs: limits.hostLostMs }
      await announceHost(db, { id, driver: driver.kind, packagesFault: packages.fault, ...about }, clock.now())
    }
  }

  protected failed(error: unknown): void {
    this.#context.log.warn({ err: error }, 'the hosts of this process could not be announced')
  }
}
