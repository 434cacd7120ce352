import type { Event } from './generated/types.ts'

/** Events that can be taken at once. */
export interface EventQueue {
  /** Returns the next Event; undefined if none is there. */
  take(): Event | undefined
  /** Waits for more; resolves with false when the queue gets no more by itself. It does not reject. */
  refill(): Promise<boolean>
}

const never = Promise.resolve(false)

/** Returns a queue of Events that are all there. */
export function queueOf(events: readonly Event[]): EventQueue {
  let next = 0
  return {
    take: () => events[next++],
    refill: () => never,
  }
}

/** Ways to end an iterator before its queues end. */
export interface EventIteratorOptions {
  readonly signal?: AbortSignal | undefined
  /** Asked about an Event when the consumer comes back from it; true ends the iterator. */
  readonly until?: ((event: Event) => boolean) | undefined
}

/**
 * Hands out the Events of queues one by one, as an async generator would that yields each. An Event that is there costs
 * one resolved promise, where each nested generator takes several turns of the microtask queue. It goes to the next
 * queue only when the consumer asks for more than this one has.
 */
export class EventIterator<Return> implements AsyncGenerator<Event, Return, undefined> {
  readonly #queues: AsyncGenerator<EventQueue, Return, undefined>
  /** The iterator's return value if the consumer's signal or `until` ends it. */
  readonly #atEnd: Return
  readonly #signal: AbortSignal | undefined
  readonly #until: ((event: Event) => boolean) | undefined
  #queue: EventQueue = queueOf([])
  /** The Event that was handed out last, until `until` has been asked about it. */
  #unjudged: Event | null = null
  /** Number of calls that have not been answered. */
  #calls = 0
  #lastCall: Promise<unknown> = never

  constructor(
    queues: AsyncGenerator<EventQueue, Return, undefined>,
    atEnd: Return,
    { signal, until }: EventIteratorOptions,
  ) {
    this.#queues = queues
    this.#atEnd = atEnd
    this.#signal = signal
    this.#until = until
  }

  next(): Promise<IteratorResult<Event, Return>> {
    if (this.#calls === 0 && this.#until === undefined && this.#signal?.aborted !== true) {
      const value = this.#queue.take()
      if (value !== undefined) return Promise.resolve({ done: false, value })
      this.#calls += 1
      const answer = this.#queue.refill().then(this.#afterRefill)
      this.#lastCall = answer
      return answer
    }
    return this.#inTurn(() => this.#advance(false))
  }

  return(value: Return | PromiseLike<Return>): Promise<IteratorResult<Event, Return>> {
    return this.#inTurn(async () => this.#end(await value))
  }

  throw(failure: unknown): Promise<IteratorResult<Event, Return>> {
    return this.#inTurn(async () => {
      await this.#end(this.#atEnd)
      throw failure
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(this.#atEnd)
  }

  /** Answers a call whose queue was empty. A live stream comes by here with each of its Events. */
  readonly #afterRefill = (
    hasMore: boolean,
  ): IteratorResult<Event, Return> | Promise<IteratorResult<Event, Return>> => {
    const value = hasMore && this.#signal?.aborted !== true ? this.#queue.take() : undefined
    if (value === undefined) return this.#counted(() => this.#advance(!hasMore))
    this.#calls -= 1
    return { done: false, value }
  }

  /** @param isDry true if the queue gets no more by itself */
  async #advance(isDry: boolean): Promise<IteratorResult<Event, Return>> {
    if (this.#until !== undefined && (await this.#isLast(this.#until))) return this.#end(this.#atEnd)
    for (let mayHaveMore = !isDry; ; ) {
      if (this.#signal?.aborted) return this.#end(this.#atEnd)
      const value = mayHaveMore ? this.#queue.take() : undefined
      if (value !== undefined) {
        this.#unjudged = value
        return { done: false, value }
      }
      if (mayHaveMore && (await this.#queue.refill())) continue
      const step = await this.#queues.next()
      if (step.done === true) return step
      this.#queue = step.value
      mayHaveMore = true
    }
  }

  /** Rethrows an error of `until` once the queues are closed. */
  async #isLast(until: (event: Event) => boolean): Promise<boolean> {
    const event = this.#unjudged
    this.#unjudged = null
    try {
      return event !== null && until(event)
    } catch (failure) {
      await this.#end(this.#atEnd)
      throw failure
    }
  }

  /** Closes the connection that the queues come from. */
  #end(value: Return): Promise<IteratorResult<Event, Return>> {
    this.#queue = queueOf([])
    // A generator that is told to return hands out no further queue.
    return this.#queues.return(value) as Promise<IteratorReturnResult<Return>>
  }

  /** Answers calls one after the other, as a generator does. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const counted = () => this.#counted(work)
    const isFirst = this.#calls === 0
    this.#calls += 1
    const answer = isFirst ? counted() : this.#lastCall.then(counted, counted)
    this.#lastCall = answer
    return answer
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      this.#calls -= 1
    }
  }
}
