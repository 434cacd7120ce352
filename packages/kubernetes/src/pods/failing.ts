import { doublingMs } from '@berth/platform/kit/backoff.ts'
import type { Failing } from './plan.ts'

const LEAST_MS = 5_000
const MOST_MS = 5 * 60_000

/** Pods do what they should. */
export const notFailing: Failing = { failures: 0, until: new Date(0) }

/**
 * Notes that pods failed. Those that fail in one round have failed once: they share their fault, and a pool of a hundred
 * would otherwise reach the longest pause at once.
 */
export function failed({ failures }: Failing, now: Date, leastMs = LEAST_MS): Failing {
  return { failures: failures + 1, until: new Date(now.getTime() + doublingMs(failures + 1, leastMs, MOST_MS)) }
}
