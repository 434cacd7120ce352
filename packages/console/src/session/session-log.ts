import type { Event } from '@berth/client'
import { emptyView, extend, type LogView } from '../log/fold.ts'

/** Where a Session's Events come from. */
export interface LogSource {
  /** Reads the Events after an exclusive cursor, at most 100, and the newest sequence of the log. */
  page(
    after: number,
    signal: AbortSignal,
  ): Promise<{ readonly events: readonly Event[]; readonly lastSequence: number }>
  /** Yields Events after a cursor as they are appended, without a gap, until the signal aborts. */
  follow(after: number, signal: AbortSignal, onState: (connected: boolean) => void): AsyncIterable<Event>
}

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'closed'

/** What subscribers see. It is replaced, never changed. */
export interface LogSnapshot {
  readonly view: LogView
  readonly connection: Connection
  /** True once the end of the log has been read. */
  readonly ready: boolean
  readonly loadingOlder: boolean
  /** A lasting refusal, such as 404; null while the log can be read. */
  readonly failure: unknown
}

/** Calls back once a frame at most, or after a moment in a hidden tab, where frames stop. */
export type Schedule = (work: () => void) => void

const pageSize = 100

/**
 * One Session's log, outside React. It starts with the end of the log, follows it while anybody subscribes, and loads
 * older pages on request. Sequences have no gaps, so the page before the first Event is known by arithmetic.
 */
export class SessionLog {
  readonly #source: LogSource
  readonly #schedule: Schedule
  readonly #listeners = new Set<() => void>()
  #snapshot: LogSnapshot = {
    view: emptyView,
    connection: 'connecting',
    ready: false,
    loadingOlder: false,
    failure: null,
  }
  #events: Event[] = []
  #pending: Event[] = []
  #scheduled = false
  #stop: AbortController | null = null
  /** Called after each change, before the subscribers. */
  onChange: ((snapshot: LogSnapshot) => void) | null = null

  constructor(source: LogSource, schedule: Schedule) {
    this.#source = source
    this.#schedule = schedule
  }

  /** True while anybody subscribes. */
  get watched(): boolean {
    return this.#listeners.size > 0
  }

  /** The current snapshot; the same object until something changes. */
  readonly read = (): LogSnapshot => this.#snapshot

  /** Follows the log while there is a subscriber. Returns the way to unsubscribe. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#stop === null) this.#start()
    return () => {
      this.#listeners.delete(listener)
      // A page that changes unsubscribes and subscribes in the same turn; the connection survives that.
      queueMicrotask(() => {
        if (this.#listeners.size === 0) this.#halt()
      })
    }
  }

  /** Loads the page before the first Event. Calls while one is under way, or at the beginning, do nothing. */
  async loadOlder(): Promise<void> {
    const { first } = this.#snapshot.view
    if (this.#snapshot.loadingOlder || first <= 1) return
    this.#set({ loadingOlder: true })
    const stop = this.#stop?.signal ?? new AbortController().signal
    try {
      const after = Math.max(0, first - 1 - pageSize)
      const { events } = await this.#source.page(after, stop)
      const older = events.filter(event => event.sequence < first)
      this.#events = [...older, ...this.#events]
      this.#set({ view: extend(emptyView, this.#events), loadingOlder: false })
    } catch {
      // The reader is told by the connection's state; scrolling again asks again.
      this.#set({ loadingOlder: false })
    }
  }

  #start(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#follow(stop.signal).catch(failure => {
      if (!stop.signal.aborted) this.#set({ failure, connection: 'closed' })
    })
  }

  #halt(): void {
    this.#stop?.abort()
    this.#stop = null
    if (this.#snapshot.failure === null) this.#set({ connection: 'connecting' })
  }

  async #follow(signal: AbortSignal): Promise<void> {
    if (!this.#snapshot.ready) await this.#readEnd(signal)
    const onState = (connected: boolean) => this.#set({ connection: connected ? 'live' : 'reconnecting' })
    for await (const event of this.#source.follow(this.#lastSequence(), signal, onState)) this.#receive(event)
  }

  async #readEnd(signal: AbortSignal): Promise<void> {
    const { events, lastSequence } = await this.#source.page(0, signal)
    this.#events = [...events]
    if (lastSequence > pageSize) {
      const tail = await this.#source.page(lastSequence - pageSize, signal)
      this.#events = [...tail.events]
    }
    this.#set({ view: extend(emptyView, this.#events), ready: true })
  }

  #lastSequence(): number {
    return this.#pending.at(-1)?.sequence ?? this.#snapshot.view.last
  }

  #receive(event: Event): void {
    this.#pending.push(event)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#schedule(() => {
      this.#scheduled = false
      const events = this.#pending.splice(0)
      this.#events.push(...events)
      this.#set({ view: extend(this.#snapshot.view, events), connection: 'live' })
    })
  }

  #set(change: Partial<LogSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change }
    this.onChange?.(this.#snapshot)
    for (const listener of this.#listeners) listener()
  }
}
