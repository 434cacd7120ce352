import type { Event, Preview } from '@berth/client'
import type { SessionState } from '@berth/contract'

/** Receives the stream's messages about one Session. */
export interface SessionSink {
  /** The sequence of the last Event that it has. */
  cursor(): number
  event(event: Event): void
  preview(preview: Preview | null): void
  connected(isConnected: boolean): void
  /** A lasting refusal; nothing comes after it. */
  failed(error: unknown): void
}

/** Takes the changes of all Sessions that the person sees; null: read the list again. */
export type FeedSink = (state: SessionState | null) => void

/** The subscriptions of one connection. */
export interface LiveRequest {
  readonly feed: boolean
  readonly sessions: readonly { readonly sessionId: string; readonly after: number }[]
}

/** Yields parsed frames over as many connections as it takes; each sends the current result of `request`. */
export type OpenLive = (
  request: () => LiveRequest,
  signal: AbortSignal,
  onState: (connected: boolean) => void,
) => AsyncIterable<readonly unknown[]>

/**
 * The one stream of a tab: everything that its page follows comes through it. It is opened when somebody begins to
 * follow, opened anew when the subscriptions change, and given back while the tab rests.
 */
export class LiveConnection {
  readonly #open: OpenLive
  readonly #onHeard: FeedSink
  readonly #sessions = new Map<string, Set<SessionSink>>()
  readonly #feeds = new Set<FeedSink>()
  readonly #watchers = new Set<() => void>()
  #isAway = false
  #resting = false
  #running: AbortController | null = null
  #requested = ''
  #due = false

  /** @param onHeard is called once with each change that this tab's own stream tells */
  constructor(open: OpenLive, onHeard: FeedSink = () => {}) {
    this.#open = open
    this.#onHeard = onHeard
  }

  /** Follows a Session from its sink's cursor on. Returns the way to stop. */
  followSession(sessionId: string, sink: SessionSink): () => void {
    const sinks = this.#sessions.get(sessionId) ?? new Set()
    this.#sessions.set(sessionId, sinks.add(sink))
    this.#changed(true)
    return () => {
      sinks.delete(sink)
      if (sinks.size === 0) this.#sessions.delete(sessionId)
      this.#changed()
    }
  }

  /** Follows the changes of all Sessions. The first call of the sink says to read the list. */
  followFeed(sink: FeedSink): () => void {
    this.#feeds.add(sink)
    this.#changed(true)
    return () => {
      this.#feeds.delete(sink)
      this.#changed()
    }
  }

  /** True while the stream should be there and is not. */
  get isAway(): boolean {
    return this.#isAway
  }

  /** Calls back whenever `isAway` changes. Returns the way to stop. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Gives the stream back, or takes it up again where it was. */
  rest(resting: boolean): void {
    if (resting === this.#resting) return
    this.#resting = resting
    this.#changed(true)
  }

  /** Opens the stream anew, for instance because the network has changed. */
  renew(): void {
    this.#changed(true)
  }

  /** Passes the messages of another tab to the feed's sinks. */
  hear(state: SessionState | null): void {
    for (const sink of this.#feeds) sink(state)
  }

  /** A page that changes stops and begins to follow in one turn, which is one new connection at most. */
  #changed(anew = false): void {
    if (anew) this.#requested = ''
    if (this.#due) return
    this.#due = true
    queueMicrotask(() => {
      this.#due = false
      const { feed, sessions } = this.#request()
      const subscription = JSON.stringify([feed, sessions.map(({ sessionId }) => sessionId)])
      if (subscription === this.#requested) return
      this.#requested = subscription
      this.#running?.abort()
      this.#running = null
      if (this.#resting || (!feed && sessions.length === 0)) return this.#setAway(false)
      const running = new AbortController()
      this.#running = running
      void this.#run(running.signal)
    })
  }

  #request(): LiveRequest {
    const sessions = [...this.#sessions].map(([sessionId, sinks]) => ({
      sessionId,
      after: Math.min(...[...sinks].map(sink => sink.cursor())),
    }))
    return { feed: this.#feeds.size > 0, sessions }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const everySink = () => [...this.#sessions.values()].flatMap(sinks => [...sinks])
    const onState = (connected: boolean) => {
      if (signal.aborted) return
      this.#setAway(!connected)
      for (const sink of everySink()) sink.connected(connected)
    }
    try {
      for await (const frames of this.#open(() => this.#request(), signal, onState)) {
        for (const frame of frames) if (!signal.aborted) this.#deliver(frame)
      }
    } catch (error) {
      if (signal.aborted) return
      this.#setAway(false)
      for (const sink of everySink()) sink.failed(error)
      // Who reads the list is refused as well, and says so.
      if (this.#feeds.size > 0) this.#heard(null)
    }
  }

  #setAway(isAway: boolean): void {
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    for (const watcher of this.#watchers) watcher()
  }

  #heard(state: SessionState | null): void {
    this.hear(state)
    this.#onHeard(state)
  }

  #deliver(frame: unknown): void {
    if (typeof frame !== 'object' || frame === null) return
    const { kind, sessionId, event, preview, session } = frame as Readonly<Record<string, unknown>>
    if (kind === 'reset') this.#heard(null)
    else if (kind === 'session') this.#heard(session as SessionState)
    for (const sink of this.#sessions.get(String(sessionId)) ?? []) {
      if (kind === 'event') sink.event(event as Event)
      else if (kind === 'preview') sink.preview(preview as Preview | null)
    }
  }
}
