/** Returns the pause after a number of failures in a row: it doubles from `leastMs` to `mostMs`. */
export const doublingMs = (failures: number, leastMs: number, mostMs: number): number =>
  Math.min(mostMs, leastMs * 2 ** Math.min(Math.max(0, failures - 1), 20))

/** Returns the same with its second half drawn by lot, so that processes which failed together do not come back together. */
export function backoffMs(failures: number, leastMs: number, mostMs: number, random = Math.random): number {
  return Math.round(doublingMs(failures, leastMs, mostMs) * (0.5 + random() / 2))
}
