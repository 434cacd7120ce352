import type { Event } from '@berth/contract'
import { BerthConnectionError, BerthError } from './error.ts'
import { followConnection, type LogPosition } from './follow-connection.ts'
import type { FollowOptions } from './follow-options.ts'
import { ReconnectPace } from './reconnect-pace.ts'

/** A connection that held this long was of use even if the Session stayed quiet. */
const usefulMs = 10_000

/** Refusals below 500 that are about the moment. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Yields a Session's Events from a cursor on: each exactly once, in order, without a gap, across every kind of broken
 * connection. Types that this client does not know are passed on.
 *
 * Ends quietly when `signal` aborts (also while nothing is happening; a plain `return()` has to wait for the next Event)
 * and after the Event that `until` names. Throws `BerthError` when the service refuses for good (400, 401, 403, 404);
 * every other failure is waited out. Holds no more than one chunk and one page, however slow the consumer is.
 */
export async function* followSession(options: FollowOptions): AsyncGenerator<Event, void, undefined> {
  const { client, signal, until } = options
  const { platform } = client
  const position: LogPosition = { cursor: options.after ?? 0, head: 0, retryMs: null }
  const pace = new ReconnectPace(() => platform.random())
  while (!signal?.aborted) {
    const startedAt = { cursor: position.cursor, ms: platform.now() }
    let fault: unknown = null
    try {
      for await (const event of followConnection(options, position)) {
        if (signal?.aborted) return
        yield event
        if (until?.(event)) return
      }
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

/** Whether waiting can mend it. What is neither a refusal nor a broken connection was thrown by the caller's own code. */
function isPassing(failure: unknown): boolean {
  if (failure instanceof BerthConnectionError) return true
  return failure instanceof BerthError && (failure.status >= 500 || passingStatuses.has(failure.status))
}
