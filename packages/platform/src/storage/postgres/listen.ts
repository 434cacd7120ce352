import type { Wakeups } from './wakeups.ts'

/** Longest delay after a missed wake-up. */
const POLL_MS = 1_000

interface Listening extends Disposable {
  /** Resolves when the topic has moved since the listening began, after a second, or when the signal aborts. */
  once(signal: AbortSignal): Promise<void>
}

/** Listens before the caller reads the state, so no change can fall between the read and the wait. */
export function listen(wakeups: Pick<Wakeups, 'subscribe'>, topic: string): Listening {
  const { promise, resolve } = Promise.withResolvers<void>()
  const unsubscribe = wakeups.subscribe(topic, () => resolve())
  const polling = setTimeout(resolve, POLL_MS)
  return {
    once: signal => {
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
      return promise
    },
    [Symbol.dispose]: () => {
      clearTimeout(polling)
      unsubscribe()
    },
  }
}
