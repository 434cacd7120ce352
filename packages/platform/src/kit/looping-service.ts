import { Loop } from './loop.ts'
import type { Service } from './service.ts'

/** A service that repeats one round of work, from its start until it is disposed of. */
export abstract class LoopingService implements Service {
  abstract readonly name: string
  readonly #loop: Loop

  /** @param intervalMs from the end of one round to the start of the next, unless the service is woken sooner */
  constructor(intervalMs: number) {
    this.#loop = new Loop(
      () => this.round(),
      intervalMs,
      error => this.failed(error),
    )
  }

  async start(): Promise<void> {
    this.wake()
  }

  /** Stops the service. Resolves when the current round, if any, has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
  }

  /** Does the work once. If a round throws, the next one follows as usual. */
  protected abstract round(): Promise<void>

  /** Reports an error that a round threw. */
  protected abstract failed(error: unknown): void

  /** Starts a round now, or one more after the current round. */
  protected wake(): void {
    this.#loop.wake()
  }
}
