import { BerthConnectionError } from './error.ts'
import { EventStream } from './event-stream.ts'
import type { FollowOptions } from './follow-options.ts'
import { parseEvent } from './frames.ts'
import type { Event } from './generated/types.ts'

const pageSize = 100
/** How long the stream may lag behind an Event that a page has shown, before the follower reads it from pages. */
const lagMs = 2_000

/** A follower's position; it outlives connections. Only `take` moves the cursor. */
export interface LogPosition {
  /** Sequence of the last Event yielded. */
  cursor: number
  /** The newest sequence known to exist. */
  head: number
  /** Reconnection time that the last stream asked for. */
  retryMs: number | null
}

/**
 * Follows the log over one connection: returns when the server ends the stream, and throws when the stream breaks.
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
): AsyncGenerator<Event, void, undefined> {
  const { client, sessionId, signal } = options
  const { platform } = client
  const stream = await EventStream.open({
    name: `events of session ${sessionId}`,
    open: call => client.events.openStream(sessionId, position.cursor, call),
    parse: parseEvent,
    platform,
    watchdogMs: options.watchdogMs ?? 40_000,
    signal,
  })
  try {
    yield* readPages(options, position, position.cursor)
    let quietSince = platform.now()
    for (;;) {
      const patienceMs = position.cursor < position.head ? lagMs : (options.verifyMs ?? 60_000)
      const step = await stream.next(quietSince + patienceMs)
      if (step.kind === 'end') return
      if (step.kind === 'idle') {
        yield* readPages(options, position, position.head)
        quietSince = platform.now()
        continue
      }
      for (const event of step.frames) {
        if (event.sequence > position.cursor + 1) yield* readPages(options, position, event.sequence - 1)
        if (!take(position, event)) continue
        yield event
        quietSince = platform.now()
      }
    }
  } finally {
    position.retryMs = stream.retryMs
    stream.close()
  }
}

/** Reads at least one page, and more until the cursor reaches `target`. @throws BerthConnectionError if it cannot */
async function* readPages(
  options: FollowOptions,
  position: LogPosition,
  target: number,
): AsyncGenerator<Event, void, undefined> {
  const { client, sessionId, signal } = options
  const log = `events of session ${sessionId}`
  do {
    const before = position.cursor
    const page = await client.events.page(sessionId, { after: before, limit: pageSize }, { signal })
    if (!Array.isArray(page?.events)) throw new BerthConnectionError(log, 'the answer is not a page of events')
    position.head = Math.max(position.head, page.lastSequence)
    for (const event of page.events) {
      if (event.sequence > position.cursor + 1) break
      if (take(position, event)) yield event
    }
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
