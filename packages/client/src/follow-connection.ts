import { type CallOptions, followerOptions } from './call-options.ts'
import type { BerthClient } from './client.ts'
import { BerthConnectionError } from './error.ts'
import { type EventQueue, queueOf } from './event-queue.ts'
import { EventStream, type StreamStep } from './event-stream.ts'
import type { FollowOptions } from './follow-options.ts'
import { parseEvent } from './frames.ts'
import type { Event } from './generated/types.ts'

const pageSize = 100
/** How long the stream may lag behind an Event that a page has shown, before the follower reads it from pages. */
const lagMs = 2_000
const never = Promise.resolve(false)

/** A follower's position; it outlives connections. Only `take` moves the cursor. */
export interface LogPosition {
  /** Sequence of the last Event taken, which has been yielded or stands in a page that is. */
  cursor: number
  /** The newest sequence known to exist. */
  head: number
  /** Reconnection time that the last stream asked for. */
  retryMs: number | null
}

/**
 * Yields the log over one connection, as queues: returns when the server ends the stream, and throws when the stream breaks.
 *
 * It subscribes first and reads a page second, so that no Event falls between the two. The page after subscribing shows
 * whether the stream has more to replay: a stream that starts too late and then stays silent would otherwise hide
 * Events. Three checks follow. If the stream skips a sequence, pages fill the gap before it continues. If the stream
 * lags behind the known head, pages overtake it. If the stream is quiet, the follower checks the log from time to time,
 * because its last frames may be lost.
 */
export async function* followConnection(
  options: FollowOptions,
  position: LogPosition,
): AsyncGenerator<EventQueue, void, undefined> {
  const { client, sessionId, signal } = options
  const { platform } = client
  const stream = await EventStream.open({
    name: `events of session ${sessionId}`,
    open: call => openEvents(client, sessionId, position.cursor, call),
    parse: ({ data }) => data,
    platform,
    watchdogMs: options.watchdogMs ?? 40_000,
    signal,
  })
  try {
    yield* readPages(options, position, position.cursor)
    const heard = new HeardEvents(options, position, stream)
    for (;;) {
      yield heard
      if (heard.hasEnded()) return
      yield* readPages(options, position, heard.missing ?? position.head)
      heard.goOn()
    }
  } finally {
    position.retryMs = stream.retryMs
    stream.close()
  }
}

/**
 * Opens the stream once: the follower paces its own attempts. The cursor is sent twice, so that the replay starts at the
 * right place even if a proxy drops the header.
 */
function openEvents(client: BerthClient, sessionId: string, after: number, call: CallOptions): Promise<Response> {
  const headers = { 'last-event-id': String(after) }
  return client.call('streamEvents', { sessionId, query: { after } }, { ...call, headers, ...followerOptions })
}

/** The Events that the stream brings, as long as each is the next one and the stream does not fall silent. */
class HeardEvents implements EventQueue {
  readonly #options: FollowOptions
  readonly #position: LogPosition
  readonly #stream: EventStream<string>
  /** Data of the frames of the last chunk; each is parsed when it is taken, so that its Event lives no longer. */
  #frames: readonly string[] = []
  #next = 0
  /** A frame that has come before its turn. */
  #stray: Event | null = null
  #quietSince: number
  /** The cursor at that time. */
  #quietAt: number
  #end: { readonly fault: unknown } | null = null

  constructor(options: FollowOptions, position: LogPosition, stream: EventStream<string>) {
    this.#options = options
    this.#position = position
    this.#stream = stream
    this.#quietSince = options.client.platform.now()
    this.#quietAt = position.cursor
  }

  /** The sequence up to which the log must be read before the next frame can be taken; null if none is missing. */
  get missing(): number | null {
    return this.#stray === null ? null : this.#stray.sequence - 1
  }

  /**
   * Returns true if the server has ended the stream.
   * @throws BerthConnectionError if the stream has broken
   */
  hasEnded(): boolean {
    if (this.#end === null) return false
    if (this.#end.fault !== null) throw this.#end.fault
    return true
  }

  take(): Event | undefined {
    while (this.#stray !== null || this.#next < this.#frames.length) {
      const event = this.#stray ?? parseEvent({ data: this.#frames[this.#next++] as string })
      this.#stray = null
      if (event === null) continue
      if (take(this.#position, event)) return event
      if (event.sequence <= this.#position.cursor) continue
      this.#stray = event
      return undefined
    }
    return undefined
  }

  refill(): Promise<boolean> {
    if (this.#stray !== null) return never
    const { cursor, head } = this.#position
    if (cursor > this.#quietAt) this.goOn()
    const patienceMs = cursor < head ? lagMs : (this.#options.verifyMs ?? 60_000)
    return this.#stream.next(this.#quietSince + patienceMs).then(this.#onStep, this.#onFault)
  }

  /** Begins to count the silence anew. */
  goOn(): void {
    this.#quietSince = this.#options.client.platform.now()
    this.#quietAt = this.#position.cursor
  }

  readonly #onStep = (step: StreamStep<string>): boolean => {
    if (step.kind === 'frames') {
      this.#frames = step.frames
      this.#next = 0
      return true
    }
    if (step.kind === 'end') this.#end = { fault: null }
    return false
  }

  readonly #onFault = (fault: unknown): boolean => {
    this.#end = { fault }
    return false
  }
}

/** Reads at least one page, and more until the cursor reaches `target`. @throws BerthConnectionError if it cannot */
async function* readPages(
  options: FollowOptions,
  position: LogPosition,
  target: number,
): AsyncGenerator<EventQueue, void, undefined> {
  const { client, sessionId, signal } = options
  const log = `events of session ${sessionId}`
  do {
    const before = position.cursor
    const page = await client.call('listEvents', { sessionId, query: { after: before, limit: pageSize } }, { signal })
    if (!Array.isArray(page?.events)) throw new BerthConnectionError(log, 'the answer is not a page of events')
    position.head = Math.max(position.head, page.lastSequence)
    const events: Event[] = []
    for (const event of page.events) {
      if (event.sequence > position.cursor + 1) break
      if (take(position, event)) events.push(event)
    }
    if (events.length > 0) yield queueOf(events)
    if (position.cursor < target && position.cursor === before) {
      throw new BerthConnectionError(log, `the log does not show event ${before + 1}`)
    }
  } while (position.cursor < target)
}

/** Moves the cursor to the very next Event; returns false for a repeated or a later one. */
function take(position: LogPosition, event: Event): boolean {
  if (event.sequence !== position.cursor + 1) return false
  position.cursor = event.sequence
  position.head = Math.max(position.head, position.cursor)
  return true
}
