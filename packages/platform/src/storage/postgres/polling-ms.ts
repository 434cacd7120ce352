import type { Wakeups } from './wakeups.ts'

/**
 * Returns the time between two polls of a loop that wake-ups serve. While they arrive, a poll finds only what none of them
 * tells of, such as a time that has come, so it may be rarer. Every listener is woken when that changes.
 *
 * @param calm so many times longer while wake-ups arrive
 */
export const pollingMs = ({ live }: Pick<Wakeups, 'live'>, pollMs: number, calm: number): number =>
  live ? pollMs * calm : pollMs
