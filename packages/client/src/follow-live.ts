import type { CallOptions } from './call-options.ts'
import { EventStream } from './event-stream.ts'
import { isPassing } from './follow.ts'
import type { Interruption } from './follow-options.ts'
import { parseJson } from './frames.ts'
import type { Platform } from './platform.ts'
import { ReconnectPace } from './reconnect-pace.ts'

export interface FollowLiveOptions {
  /** Opens the stream; called anew for each connection, so it may continue at the caller's position. */
  open(options: CallOptions): Promise<Response>
  readonly platform: Platform
  readonly signal?: AbortSignal | undefined
  /** Called when a connection stands. */
  readonly onOpen?: () => void
  /** Called before every reconnection; an error that it throws ends the follower. */
  readonly onInterruption?: (interruption: Interruption) => void
  /** Bound of the random pause before a reconnection; the service may ask for more. Default 30 s. */
  readonly maxDelayMs?: number
  /** Silence, in bytes, after which a connection counts as dead. Default 45 s. */
  readonly watchdogMs?: number
}

/** A connection that lasted this long was useful even if it told nothing. */
const usefulMs = 10_000

/**
 * Yields the parsed frames of a stream that tells several things at once, across every kind of broken connection.
 * Frames that are no JSON are skipped; the caller judges the meaning of a frame, and the gaps. It ends
 * without an error when `signal` aborts.
 *
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export async function* followLive(options: FollowLiveOptions): AsyncGenerator<readonly unknown[], void, undefined> {
  const { platform, signal, watchdogMs = 45_000 } = options
  const pace = new ReconnectPace(() => platform.random(), options.maxDelayMs)
  let retryMs: number | null = null
  while (!signal?.aborted) {
    const startedMs = platform.now()
    let received = false
    let fault: unknown = null
    try {
      const stream = await EventStream.open<{ readonly value: unknown }>({
        name: 'live stream',
        open: call => options.open(call),
        parse: ({ data }) => {
          const value = parseJson(data)
          return value === null ? null : { value }
        },
        platform,
        watchdogMs,
        signal,
      })
      try {
        options.onOpen?.()
        for (;;) {
          const step = await stream.next(Number.POSITIVE_INFINITY)
          if (step.kind === 'end') break
          if (step.kind === 'idle' || step.frames.length === 0) continue
          received = true
          yield step.frames.map(({ value }) => value)
        }
      } finally {
        retryMs = stream.retryMs
        stream.close()
      }
    } catch (failure) {
      if (signal?.aborted) return
      if (!isPassing(failure)) throw failure
      fault = failure
    }
    if (signal?.aborted) return
    const useful = received || platform.now() - startedMs >= usefulMs
    const delayMs = pace.after({ useful, retryMs, fault })
    options.onInterruption?.({ fault, delayMs, failures: pace.failures })
    try {
      await platform.sleep(delayMs, signal)
    } catch (failure) {
      if (signal?.aborted) return
      throw failure
    }
  }
}
