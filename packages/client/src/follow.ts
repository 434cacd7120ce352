import { BerthConnectionError, BerthError } from './error.ts'
import { EventIterator, type EventQueue } from './event-queue.ts'
import { followConnection, type LogPosition } from './follow-connection.ts'
import type { FollowOptions } from './follow-options.ts'
import type { Event } from './generated/types.ts'
import { ReconnectPace } from './reconnect-pace.ts'

/** A connection that lasted this long was useful even if the Session stayed quiet. */
const usefulMs = 10_000

/** Statuses below 500 that may pass. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

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
export async function* followQueues(options: FollowOptions): AsyncGenerator<EventQueue, void, undefined> {
  const { client, signal } = options
  const { platform } = client
  const position: LogPosition = { cursor: options.after ?? 0, head: 0, retryMs: null }
  const pace = new ReconnectPace(() => platform.random(), options.maxDelayMs)
  while (!signal?.aborted) {
    const startedAt = { cursor: position.cursor, ms: platform.now() }
    let fault: unknown = null
    try {
      yield* followConnection(options, position)
    } catch (failure) {
      if (signal?.aborted) return
      if (!isPassing(failure)) throw failure
      fault = failure
    }
    const useful = position.cursor > startedAt.cursor || platform.now() - startedAt.ms >= usefulMs
    const delayMs = pace.after({ useful, retryMs: position.retryMs, fault })
    position.retryMs = null
    options.onInterruption?.({ fault, delayMs, failures: pace.failures })
    try {
      await platform.sleep(delayMs, signal)
    } catch (failure) {
      if (signal?.aborted) return
      throw failure
    }
  }
}

/** Returns true if waiting may help. Anything but a refusal or a broken connection was thrown by the caller's code. */
export function isPassing(failure: unknown): boolean {
  if (failure instanceof BerthConnectionError) return true
  return failure instanceof BerthError && (failure.status >= 500 || passingStatuses.has(failure.status))
}
