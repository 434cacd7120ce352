import { EventIterator, type EventQueue } from './event-queue.ts'
import { followQueues } from './follow.ts'
import type { FollowOptions } from './follow-options.ts'
import type { Event } from './generated/types.ts'

const terminalTypes: ReadonlySet<string> = new Set([
  'svc.run.completed',
  'svc.run.failed',
  'svc.run.cancelled',
  'svc.run.crashed',
])

/** Returns true if the Event ends its Run; exactly one such Event ends any Run. */
export function isTerminalRunEvent(event: Event): boolean {
  return terminalTypes.has(event.type)
}

/** Options of `followRun`. `after` must lie before the Run's terminal Event, or the follower never sees the end. */
export interface FollowRunOptions extends Omit<FollowOptions, 'until'> {
  readonly runId: string
}

/**
 * Follows one Run to its end. Yields its Events and those of the Session that belong to no Run. The terminal Event
 * comes last and is also the return value, which is null only if `signal` aborted first.
 */
export function followRun(options: FollowRunOptions): AsyncGenerator<Event, Event | null, undefined> {
  return new EventIterator<Event | null>(runQueues(options), null, { signal: options.signal })
}

async function* runQueues(options: FollowRunOptions): AsyncGenerator<EventQueue, Event | null, undefined> {
  const { runId, ...follow } = options
  for await (const queue of followQueues(follow)) {
    const ofRun = new EventsOfRun(queue, runId)
    yield ofRun
    if (ofRun.terminal !== null) return ofRun.terminal
  }
  return null
}

/** The Events of a queue that belong to a Run or to none, up to the one that ends the Run. */
class EventsOfRun implements EventQueue {
  readonly #queue: EventQueue
  readonly #runId: string
  terminal: Event | null = null

  constructor(queue: EventQueue, runId: string) {
    this.#queue = queue
    this.#runId = runId
  }

  take(): Event | undefined {
    if (this.terminal !== null) return undefined
    for (let event = this.#queue.take(); event !== undefined; event = this.#queue.take()) {
      const { runId } = event.subject
      if (runId !== undefined && runId !== this.#runId) continue
      if (runId === this.#runId && isTerminalRunEvent(event)) this.terminal = event
      return event
    }
    return undefined
  }

  async refill(): Promise<boolean> {
    return this.terminal === null && (await this.#queue.refill())
  }
}
