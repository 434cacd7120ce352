import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2000

/** Polls, with growing pauses, until the value is final, and returns it. */
export async function settled<T>(read: () => Promise<T>, isFinal: (value: T) => boolean): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
    const value = await read()
    if (isFinal(value)) return value
    await sleep(pauseMs)
  }
}
