import type { Clock } from './clock.ts'

/** The headers of another server's answer, by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Longest pause that is granted to another server. */
export const LONGEST_PAUSE_MS = 60 * 60_000

/**
 * Returns the pause that another server asks for by `Retry-After`, which is a number of seconds or a date, in milliseconds;
 * undefined if it asks for none, or says it in no known form.
 * @param clock for answers without a `Date`
 */
export function retryAfterMs(headers: AnswerHeaders, clock: Clock): number | undefined {
  const value = String(headers['retry-after'] ?? '').trim()
  if (value === '') return undefined
  const seconds = Number(value)
  return Number.isNaN(seconds) ? pauseUntilMs(Date.parse(value), headers, clock) : bounded(seconds * 1000)
}

/**
 * Returns how far away a time is that another server names, in milliseconds; undefined if it is no time. The server counts by
 * its own clock, which its answer shows in `Date`, so neither clock has to be right.
 * @param clock for answers without a `Date`
 */
export function pauseUntilMs(atMs: number, { date }: AnswerHeaders, clock: Clock): number | undefined {
  const sentMs = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return bounded(atMs - (Number.isNaN(sentMs) ? clock.now().getTime() : sentMs))
}

const bounded = (ms: number): number | undefined =>
  Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_PAUSE_MS)
