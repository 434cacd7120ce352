/** The choices on the page of usage, for its URL: every page reads URLs, and no other part of usage. */

/** The measures that a plot of usage can show. */
export const measures = ['cost', 'tokens', 'requests'] as const

export type Measure = (typeof measures)[number]

/** The times that a person can choose without a calendar. */
export const ranges = ['7d', '30d', '90d', 'month', 'last-month'] as const

export type Range = (typeof ranges)[number]

/** Returns true for a day that the calendar has. */
export function isDay(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(value)) return false
  const ms = Date.parse(value)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value)
}
