import { BerthConnectionError, BerthError } from './error.ts'
import type { Interruption } from './follow-options.ts'
import type { Platform } from './platform.ts'
import { ReconnectPace } from './reconnect-pace.ts'

interface ReconnectOptions {
  readonly platform: Platform
  readonly signal?: AbortSignal | undefined
  readonly onInterruption?: ((interruption: Interruption) => void) | undefined
  readonly maxDelayMs?: number | undefined
}

/** What a follower knows across its connections. */
interface Followed {
  /** Differs once a connection has brought something. */
  readonly cursor: unknown
  /** Reconnection time that the last stream asked for. */
  readonly retryMs: number | null
}

/** A connection that lasted this long was useful even if it brought nothing. */
const usefulMs = 10_000

/** Statuses below 500 that may pass. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** Returns true if waiting may help. Anything but a refusal or a broken connection was thrown by the caller's code. */
export function isPassing(failure: unknown): boolean {
  if (failure instanceof BerthConnectionError) return true
  return failure instanceof BerthError && (failure.status >= 500 || passingStatuses.has(failure.status))
}

/**
 * Yields from one connection after another, with a pause between them, until `signal` aborts.
 * @throws BerthError if the service refuses for good, or an error of the caller's code
 */
export async function* reconnecting<T>(
  { platform, signal, onInterruption, maxDelayMs }: ReconnectOptions,
  followed: Followed,
  connect: () => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const pace = new ReconnectPace(() => platform.random(), maxDelayMs)
  while (!signal?.aborted) {
    const began = { ms: platform.now(), cursor: followed.cursor }
    let fault: unknown = null
    try {
      yield* connect()
    } catch (failure) {
      if (signal?.aborted) return
      if (!isPassing(failure)) throw failure
      fault = failure
    }
    if (signal?.aborted) return
    const useful = followed.cursor !== began.cursor || platform.now() - began.ms >= usefulMs
    const delayMs = pace.after({ useful, retryMs: followed.retryMs, fault })
    onInterruption?.({ fault, delayMs, failures: pace.failures })
    try {
      await platform.sleep(delayMs, signal)
    } catch (failure) {
      if (signal?.aborted) return
      throw failure
    }
  }
}
