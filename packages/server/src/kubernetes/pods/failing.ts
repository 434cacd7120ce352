import type { Failing } from './plan.ts'

const LEAST_MS = 5_000
const MOST_MS = 5 * 60_000

/** Pods do what they should. */
export const notFailing: Failing = { failures: 0, until: new Date(0) }

/** Returns the pause before the next attempt after a number of failures in a row. */
export function pauseMs(failures: number, leastMs: number = LEAST_MS, mostMs: number = MOST_MS): number {
  return Math.min(mostMs, leastMs * 2 ** Math.min(failures - 1, 20))
}

/**
 * Notes that pods failed. Those that fail in one round have failed once: they share their fault, and a pool of a hundred
 * would otherwise reach the longest pause at once.
 */
export function failed({ failures }: Failing, now: Date, leastMs?: number): Failing {
  return { failures: failures + 1, until: new Date(now.getTime() + pauseMs(failures + 1, leastMs)) }
}
