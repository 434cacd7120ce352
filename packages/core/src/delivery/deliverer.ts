import { Loop } from '@berth/platform/kit/loop.ts'
import type { Service } from '@berth/platform/kit/service.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import { pollingMs } from '@berth/platform/storage/postgres/polling-ms.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../context.ts'
import type { Task, WorkQueue } from './work-queue.ts'

interface Held {
  readonly task: Task
  readonly abort: AbortController
  readonly done: Promise<void>
}

/** Time between two polls while wake-ups arrive, as a multiple of the time while they do not. Retries wait for polls. */
const CALM = 4

/** How long a claim stands without renewal, and the pause between polls while no wake-ups arrive. */
export interface DelivererLimits {
  readonly claimMs: number
  readonly pollMs: number
}

/**
 * Works off reviews, Publications and Merges. Their rows tell the next step. A process claims them one by one, and the
 * claims of a dead process lapse within seconds (docs/decisions/0006-deliveries-are-claimed-rows.md). A task that fails
 * leaves its claim to lapse.
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
    const messages = {
      waiting: 'the database is away; deliveries continue once it is back',
      failed: 'could not claim or renew deliveries; the next round tries again',
    }
    const log = (error: unknown) => logFailure(context.log, error, messages)
    this.#claiming = new Loop(
      () => this.#claim(),
      () => pollingMs(context.wakeups, limits.pollMs, CALM),
      log,
    )
    this.#renewing = new Loop(() => this.#renew(), limits.claimMs / 4, log)
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#context.wakeups.subscribe(topics.deliveries, () => this.#claiming.wake())
    this.#claiming.wake()
    this.#renewing.wake()
  }

  /** Stops the active tasks; the process that claims one next continues from its row. */
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
        logFailure(log, error, {
          waiting: 'the database is away; a delivery continues once it is back',
          failed: 'a delivery failed; it is tried again once its claim has lapsed',
        })
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
