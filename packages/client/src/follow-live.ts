import type { CallOptions } from './call-options.ts'
import { EventStream } from './event-stream.ts'
import type { Interruption } from './follow-options.ts'
import { parseJson } from './frames.ts'
import type { Platform } from './platform.ts'
import { reconnecting } from './reconnect.ts'

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

/**
 * Yields the parsed frames of a stream that tells several things at once, across every kind of broken connection.
 * Frames that are no JSON are skipped; the caller judges the meaning of a frame, and the gaps. It ends
 * without an error when `signal` aborts.
 *
 * @throws BerthError if the service refuses for good (400, 401, 403, 404)
 */
export function followLive(options: FollowLiveOptions): AsyncGenerator<readonly unknown[], void, undefined> {
  const position: Position = { cursor: 0, retryMs: null }
  return reconnecting(options, position, () => framesOfConnection(options, position))
}

interface Position {
  /** Number of chunks that were read. */
  cursor: number
  /** Reconnection time that the last stream asked for. */
  retryMs: number | null
}

async function* framesOfConnection(
  { open, onOpen, platform, signal, watchdogMs = 45_000 }: FollowLiveOptions,
  position: Position,
): AsyncGenerator<readonly unknown[], void, undefined> {
  const stream = await EventStream.open<{ readonly value: unknown }>({
    name: 'live stream',
    open,
    parse: ({ data }) => {
      const value = parseJson(data)
      return value === null ? null : { value }
    },
    platform,
    watchdogMs,
    signal,
  })
  try {
    onOpen?.()
    for (;;) {
      const step = await stream.next(Number.POSITIVE_INFINITY)
      if (step.kind === 'end') return
      if (step.kind === 'idle' || step.frames.length === 0) continue
      position.cursor += 1
      yield step.frames.map(({ value }) => value)
    }
  } finally {
    position.retryMs = stream.retryMs
    stream.close()
  }
}
