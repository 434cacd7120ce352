/**
 * Returns the pause after a number of failures in a row: it doubles from `leastMs` to `mostMs`, and its second half is
 * drawn by lot, so that processes which failed together do not come back together.
 */
export function backoffMs(failures: number, leastMs: number, mostMs: number, random = Math.random): number {
  const whole = Math.min(mostMs, leastMs * 2 ** Math.min(Math.max(0, failures - 1), 20))
  return Math.round(whole * (0.5 + random() / 2))
}
