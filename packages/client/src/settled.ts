import { linkedController } from './deadline.ts'
import { defaultPlatform, type Platform } from './platform.ts'

const firstPauseMs = 100
const longestPauseMs = 2_000

/** Options of `settled`. */
export interface SettledOptions {
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Ends the wait with the value as it stands. */
  readonly enough?: AbortSignal | undefined
  /** Ends the wait with the value as it stands after this long; without it the wait has no bound. */
  readonly atMostMs?: number
  readonly platform?: Pick<Platform, 'now' | 'sleep'>
}

/**
 * Reads a value, such as a Publication or a Merge, until it is final, with growing pauses, and returns it. If the time
 * is over first, it returns the value that is not final.
 */
export async function settled<T>(
  read: () => Promise<T>,
  isFinal: (value: T) => boolean,
  { signal, enough, atMostMs = Number.POSITIVE_INFINITY, platform = defaultPlatform }: SettledOptions = {},
): Promise<T> {
  const endMs = platform.now() + atMostMs
  const { controller, release } = linkedController(signal)
  const stop = () => controller.abort()
  const isEnough = () => enough?.aborted === true
  enough?.addEventListener('abort', stop, { once: true })
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      const value = await read()
      const leftMs = endMs - platform.now()
      if (isFinal(value) || leftMs <= 0 || isEnough()) return value
      try {
        await platform.sleep(Math.min(pauseMs, leftMs), controller.signal)
      } catch (failure) {
        signal?.throwIfAborted()
        if (!isEnough()) throw failure
        return value
      }
    }
  } finally {
    release()
    enough?.removeEventListener('abort', stop)
  }
}
