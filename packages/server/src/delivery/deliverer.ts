import type { Context } from '../context.ts'
import { Loop } from '../kit/loop.ts'
import type { Service } from '../kit/service.ts'
import { logFailure } from '../storage/postgres/log-failure.ts'
import { topics } from '../storage/postgres/wakeups.ts'
import type { Task, WorkQueue } from './work-queue.ts'

interface Held {
  readonly task: Task
  readonly abort: AbortController
  readonly done: Promise<void>
}

/** How long a claim stands unrenewed, and how often is looked when nothing wakes. */
export interface DelivererLimits {
  readonly claimMs: number
  readonly pollMs: number
}

/**
 * Works off reviews, Publications and Merges: rows that say what to do next, claimed one by one, with claims that lapse
 * within seconds of a process that is gone (decision 0006). A task that fails leaves its claim to lapse.
 */
export class Deliverer implements Service {
  readonly name = 'deliverer'
  readonly #context: Pick<Context, 'clock' | 'wakeups' | 'log'>
  readonly #queues: readonly WorkQueue[]
  readonly #limits: DelivererLimits
  readonly #held = new Map<WorkQueue, Set<Held>>()
  readonly #claiming: Loop
  readonly #renewing: Loop
  #unsubscribe = () => {}
  #stopping = false

  constructor(
    context: Pick<Context, 'clock' | 'wakeups' | 'log'>,
    queues: readonly WorkQueue[],
    limits: DelivererLimits,
  ) {
    this.#context = context
    this.#queues = queues
    this.#limits = limits
    const messages = { waiting: 'deliveries wait for the database', failed: 'deliveries could not be claimed' }
    const log = (error: unknown) => logFailure(context.log, error, messages)
    this.#claiming = new Loop(() => this.#claim(), limits.pollMs, log)
    this.#renewing = new Loop(() => this.#renew(), limits.claimMs / 4, log)
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.deliveries, () => this.#claiming.wake())
    this.#claiming.wake()
    this.#renewing.wake()
  }

  /** Stops what is under way; whoever claims it next goes on from its row. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    this.#unsubscribe()
    await this.#claiming[Symbol.asyncDispose]()
    const held = [...this.#held.values()].flatMap(tasks => [...tasks])
    for (const { abort } of held) abort.abort(new Error('the service stops'))
    await Promise.all(held.map(({ done }) => done))
    await this.#renewing[Symbol.asyncDispose]()
  }

  async #claim(): Promise<void> {
    for (const queue of this.#queues) {
      const held = this.#heldAt(queue)
      const free = queue.concurrency - held.size
      if (free <= 0 || this.#stopping) continue
      const now = this.#context.clock.now()
      const until = new Date(now.getTime() + this.#limits.claimMs)
      for (const task of await queue.claim({ now, until }, free)) this.#take(queue, held, task)
    }
  }

  #take(queue: WorkQueue, held: Set<Held>, task: Task): void {
    const abort = new AbortController()
    const done = task
      .work(abort.signal)
      .catch(error => {
        if (abort.signal.aborted) return
        const log = this.#context.log.child({ queue: queue.name })
        logFailure(log, error, { waiting: 'work waits for the database', failed: 'work was given up for now' })
      })
      .finally(() => {
        held.delete(one)
        this.#claiming.wake()
      })
    const one: Held = { task, abort, done }
    held.add(one)
  }

  async #renew(): Promise<void> {
    const until = new Date(this.#context.clock.now().getTime() + this.#limits.claimMs)
    const held = [...this.#held.values()].flatMap(tasks => [...tasks])
    for (const { task, abort } of held) {
      if (!(await task.renew(until))) abort.abort(new Error('the claim was taken over'))
    }
  }

  #heldAt(queue: WorkQueue): Set<Held> {
    const held = this.#held.get(queue) ?? new Set<Held>()
    this.#held.set(queue, held)
    return held
  }
}
