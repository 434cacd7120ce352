import type { Event, Preview } from '@berth/client'
import { emptyTranscript, extendTranscript, type Transcript } from '@berth/client/transcript'
import type { SessionSink } from '../live/live-connection.ts'
import type { Schedule } from './paced.ts'

/** Where a Session's Events come from. */
export interface LogSource {
  /** Reads the last Events of the log. */
  end(signal: AbortSignal): Promise<readonly Event[]>
  /** Reads the Events after an exclusive cursor, at most 100. */
  page(after: number, signal: AbortSignal): Promise<readonly Event[]>
  /** Reads the Events after an exclusive cursor up to one, however many there are. */
  range(after: number, last: number, signal: AbortSignal): Promise<readonly Event[]>
  /** Tells the sink of Events after its cursor as they are appended. Returns the way to stop. */
  follow(sink: SessionSink): () => void
}

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'closed'

/** The state for subscribers. It is replaced, never changed. */
export interface LogSnapshot {
  readonly view: Transcript
  readonly connection: Connection
  /** True once the end of the log has been read. */
  readonly ready: boolean
  readonly loadingOlder: boolean
  /** The messages and calls in progress, without those that the log has already. */
  readonly preview: Preview | null
  /** A lasting refusal, such as 404; null while the log can be read. */
  readonly failure: unknown
}

const pageSize = 100
/** So many Events before the one that is sought are loaded with it. */
const around = 30

/**
 * One Session's log, outside React. It starts with the end of the log, follows it while anybody subscribes, and loads
 * older pages on request. Sequences have no gaps, so the page before the first Event is known by arithmetic.
 */
export class SessionLog {
  readonly #source: LogSource
  readonly #schedule: Schedule
  readonly #listeners = new Set<() => void>()
  #snapshot: LogSnapshot = {
    view: emptyTranscript,
    connection: 'connecting',
    ready: false,
    loadingOlder: false,
    preview: null,
    failure: null,
  }
  #events: Event[] = []
  #pending: Event[] = []
  #scheduled = false
  #stop: AbortController | null = null
  #unfollow: (() => void) | null = null
  /** Messages and tool calls that the log has told: a preview of one may come later than its Event. */
  readonly #logged = new Set<string>()
  /** The last preview as it came. */
  #previewed: Preview | null = null
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

  /** The Events that were read, in order. */
  get events(): readonly Event[] {
    return this.#events
  }

  /** Tries again after a refusal. */
  retry(): void {
    this.#halt()
    this.#set({ failure: null, connection: 'connecting' })
    if (this.#listeners.size > 0) this.#start()
  }

  /** Follows the log while there is a subscriber. Returns the way to unsubscribe. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (this.#stop === null) {
      // A failure for an earlier reader may have passed.
      if (this.#snapshot.failure !== null)
        this.#snapshot = { ...this.#snapshot, failure: null, connection: 'connecting' }
      this.#start()
    }
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
    await this.#prepend(first - pageSize, (after, signal) => this.#source.page(after, signal))
  }

  /**
   * Loads everything from an Event on, with some Events before it. Many pages would use up the person's requests,
   * so one stream brings them.
   * @returns false if the Event could not be loaded
   */
  async reach(sequence: number): Promise<boolean> {
    const { first, last } = this.#snapshot.view
    if (sequence > last) return false
    if (sequence < first) {
      await this.#prepend(sequence - around, (after, signal) => this.#source.range(after, first - 1, signal))
    }
    return this.#snapshot.view.first <= sequence
  }

  /** Loads the Events from a sequence to the first one that is known, unless others are being loaded. */
  async #prepend(from: number, load: (after: number, signal: AbortSignal) => Promise<readonly Event[]>): Promise<void> {
    const { first } = this.#snapshot.view
    if (this.#snapshot.loadingOlder || first <= 1) return
    this.#set({ loadingOlder: true })
    const stop = this.#stop?.signal ?? new AbortController().signal
    try {
      const events = await load(Math.max(0, from - 1), stop)
      const older = events.filter(event => event.sequence < first)
      this.#events = [...older, ...this.#events]
      this.#set({ view: extendTranscript(emptyTranscript, this.#events), loadingOlder: false })
    } catch {
      // The reader is told by the connection's state; scrolling again asks again.
      this.#set({ loadingOlder: false })
    }
  }

  #start(): void {
    const stop = new AbortController()
    this.#stop = stop
    this.#follow(stop.signal).catch(failure => {
      if (!stop.signal.aborted) this.#fail(failure)
    })
  }

  #halt(): void {
    this.#stop?.abort()
    this.#stop = null
    this.#unfollow?.()
    this.#unfollow = null
    this.#previewed = null
    if (this.#snapshot.failure === null) this.#set({ connection: 'connecting', preview: null })
  }

  async #follow(signal: AbortSignal): Promise<void> {
    if (!this.#snapshot.ready) await this.#readEnd(signal)
    signal.throwIfAborted()
    this.#unfollow = this.#source.follow({
      cursor: () => this.#lastSequence(),
      event: event => this.#receive(event),
      preview: preview => this.#preview(preview),
      connected: isConnected => this.#set({ connection: isConnected ? 'live' : 'reconnecting' }),
      failed: failure => this.#fail(failure),
    })
  }

  #fail(failure: unknown): void {
    this.#set({ failure, connection: 'closed', preview: null })
  }

  async #readEnd(signal: AbortSignal): Promise<void> {
    this.#events = [...(await this.#source.end(signal))]
    this.#set({ view: extendTranscript(emptyTranscript, this.#events), ready: true })
  }

  #lastSequence(): number {
    return this.#pending.at(-1)?.sequence ?? this.#snapshot.view.last
  }

  /** An Event that is known already comes again after a reconnection. */
  #receive(event: Event): void {
    if (event.sequence !== this.#lastSequence() + 1) return
    this.#pending.push(event)
    const { messageId, activityId } = event.data
    if (event.type === 'svc.message.created') this.#logged.add(String(messageId))
    if (event.type === 'svc.activity.completed') this.#logged.add(String(activityId))
    if (this.#scheduled) return
    this.#scheduled = true
    this.#schedule(() => {
      this.#scheduled = false
      const events = this.#pending.splice(0)
      this.#events.push(...events)
      // In one step with the Events, so that a message is never there twice, nor missing in between.
      const preview = this.#unlogged()
      this.#set({ view: extendTranscript(this.#snapshot.view, events), connection: 'live', preview })
    })
  }

  #preview(preview: Preview | null): void {
    this.#previewed = preview
    // Events that wait for their frame are not visible yet, so the preview that they replace must stay until then.
    if (!this.#scheduled) this.#set({ preview: this.#unlogged() })
  }

  #unlogged(): Preview | null {
    const preview = this.#previewed
    if (preview === null) return null
    const { message, ...rest } = preview
    const activities = preview.activities.filter(({ activityId }) => !this.#logged.has(activityId))
    return { ...rest, activities, ...(message !== undefined && !this.#logged.has(message.messageId) && { message }) }
  }

  #set(change: Partial<LogSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change }
    this.onChange?.(this.#snapshot)
    for (const listener of this.#listeners) listener()
  }
}
