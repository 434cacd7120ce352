import type { UsageSearch } from '../routing/to.ts'
import type { Range } from './choices.ts'

const dayMs = 24 * 60 * 60_000

export const rangeLabels: Readonly<Record<Range, string>> = {
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
}

/** The most days that the service reports at once. */
export const mostDays = 366

/** Two days of UTC, both included, as `YYYY-MM-DD`. */
export interface Days {
  readonly from: string
  readonly to: string
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns the days that a range means now, in UTC: that is how the service counts them. */
export function daysOfRange(range: Range, nowMs: number): Days {
  const now = new Date(nowMs)
  const month = (offset: number, day: number) => dayOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, day))
  if (range === 'month') return { from: month(0, 1), to: dayOf(nowMs) }
  if (range === 'last-month') return { from: month(-1, 1), to: month(0, 0) }
  const count = { '7d': 7, '30d': 30, '90d': 90 }[range]
  return { from: dayOf(nowMs - (count - 1) * dayMs), to: dayOf(nowMs) }
}

/** Returns the days that a URL asks for; the last 30 if it asks for none. */
export function daysOfSearch({ range, from, to }: UsageSearch, nowMs: number): Days {
  if (from !== undefined && to !== undefined) return { from, to }
  return daysOfRange(range ?? '30d', nowMs)
}

/** Returns why the service would refuse these days; null if it would not. */
export function faultOfDays({ from, to }: Days): string | null {
  const count = (Date.parse(to) - Date.parse(from)) / dayMs + 1
  if (Number.isNaN(count)) return 'Choose two days.'
  if (count < 1) return 'The first day is after the last.'
  return count > mostDays ? `At most ${mostDays} days at once.` : null
}
