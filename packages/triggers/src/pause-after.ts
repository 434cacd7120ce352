import { doublingMs } from '@berth/platform/kit/backoff.ts'

const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 10 * 60_000

/** Returns how long the next try waits after so many, in milliseconds. */
export const pauseAfter = (tries: number): number => doublingMs(tries + 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
