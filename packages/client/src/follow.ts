import { EventIterator, type EventQueue } from './event-queue.ts'
import { followConnection, type LogPosition } from './follow-connection.ts'
import type { FollowOptions } from './follow-options.ts'
import type { Event } from './generated/types.ts'
import { reconnecting } from './reconnect.ts'

/**
 * Yields a Session's Events from a cursor on, each exactly once, in order and without a gap, across every kind of
 * broken connection. It passes on Events of unknown types.
 *
 * It ends without an error after the Event that `until` selects, and when `signal` aborts, even while nothing happens;
 * a plain `return()` must wait for the next Event. It waits and retries after every failure but a lasting refusal. It
 * holds at most one chunk and one page, however slow the consumer is.
 *
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export function followSession(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
  const { signal, until } = options
  return new EventIterator<void>(followQueues(options), undefined, { signal, until })
}

/** Yields the Events of `followSession` as queues, one after the other; the caller heeds `until`. */
export function followQueues(options: FollowOptions): AsyncGenerator<EventQueue, void, undefined> {
  const position: LogPosition = { cursor: options.after ?? 0, head: 0, retryMs: null }
  const { platform } = options.client
  return reconnecting({ ...options, platform }, position, () => followConnection(options, position))
}
