import { LoopingService } from '../../kit/looping-service.ts'
import type { Wakeups } from './wakeups.ts'

/** A service that does its round when one of its topics is published, and at least every so often. */
export abstract class WokenService extends LoopingService {
  readonly #wakeups: Wakeups
  readonly #topics: readonly string[]
  #subscriptions: readonly (() => void)[] = []

  /** @param intervalMs from the end of one round to the start of the next, unless the service is woken sooner */
  constructor(wakeups: Wakeups, topics: readonly string[], intervalMs: number) {
    super(intervalMs)
    this.#wakeups = wakeups
    this.#topics = topics
  }

  /** Starts another round if the service was started. Its rounds may also be called one by one. */
  protected wakeAgain(): void {
    if (this.#subscriptions.length > 0) this.wake()
  }

  override async start(): Promise<void> {
    this.#subscriptions = this.#topics.map(topic => this.#wakeups.subscribe(topic, () => this.wake()))
    await super.start()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const unsubscribe of this.#subscriptions) unsubscribe()
    await super[Symbol.asyncDispose]()
  }
}
