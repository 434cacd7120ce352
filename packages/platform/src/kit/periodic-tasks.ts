import { Loop } from './loop.ts'
import type { Service } from './service.ts'

/** Work that a process repeats while it lives, and that holds nothing between two rounds. */
export interface PeriodicTask {
  readonly name: string
  /** From the end of one round to the start of the next, unless the task is woken sooner. */
  readonly intervalMs: number
  /**
   * Does the work once. If a round throws, the next one follows as usual.
   * @param stopping aborts when the process stops, which waits for the round
   */
  round(stopping: AbortSignal): Promise<void>
  /** Reports an error that a round threw. */
  failed(error: unknown, stopping: AbortSignal): void
  /** Calls back when a round is due sooner. @returns what ends that */
  subscribe?(wake: () => void): () => void
}

/** Repeats tasks, each in a loop of its own, so that none delays another. */
export class PeriodicTasks implements Service {
  readonly name = 'periodic-tasks'
  readonly #stopping = new AbortController()
  readonly #tasks: readonly (readonly [PeriodicTask, Loop])[]
  #subscriptions: readonly (() => void)[] = []

  constructor(tasks: readonly PeriodicTask[]) {
    const { signal } = this.#stopping
    this.#tasks = tasks.map(task => {
      const failed = (error: unknown) => task.failed(error, signal)
      return [task, new Loop(() => task.round(signal), task.intervalMs, failed)]
    })
  }

  async start(): Promise<void> {
    const woken = this.#tasks.map(([task, loop]) => task.subscribe?.(() => loop.wake()))
    this.#subscriptions = woken.filter(unsubscribe => unsubscribe !== undefined)
    for (const [, loop] of this.#tasks) loop.wake()
  }

  /** Stops the tasks. Resolves when their current rounds have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const unsubscribe of this.#subscriptions) unsubscribe()
    this.#stopping.abort(new Error('the service stops'))
    await Promise.all(this.#tasks.map(([, loop]) => loop[Symbol.asyncDispose]()))
  }
}
