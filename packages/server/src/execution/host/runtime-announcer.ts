import { Loop, type Service } from '../../kit/service.ts'
import { ANNOUNCE_MS, announceHost } from '../../runtimes/runtime-hosts.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** Announces the runtimes of this worker's host to the deployment, including those installed while it serves. */
export class RuntimeAnnouncer implements Service {
  readonly name = 'runtime announcer'
  readonly #context: ExecutionContext
  readonly #loop: Loop

  constructor(context: ExecutionContext) {
    this.#context = context
    this.#loop = new Loop(
      () => this.#announce(),
      ANNOUNCE_MS,
      error => context.log.warn({ err: error }, 'the runtimes of this host could not be announced'),
    )
  }

  /** Waits for the first announcement, so the next request finds the runtimes. */
  async start(): Promise<void> {
    await this.#announce()
    this.#loop.wake()
  }

  async drain(): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain()
  }

  #announce(): Promise<void> {
    const { db, host, runtimes, limits, clock } = this.#context
    return announceHost(db, { name: host, runtimes: runtimes.installed, patienceMs: limits.hostLostMs }, clock.now())
  }
}
