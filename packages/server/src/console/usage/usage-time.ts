import { type UsageReport, usageLimits } from '@berth/contract'
import { invalidField } from '@berth/platform/kit/refusal.ts'

export const DAY_MS = 24 * 60 * 60_000
/** Days of a report that names none. */
const DEFAULT_DAYS = 30

/** A time in whole days of UTC. */
export interface UsageTime {
  readonly from: Date
  /** Exclusive. */
  readonly until: Date
  /** Each day as `YYYY-MM-DD`. */
  readonly days: readonly string[]
}

/**
 * Returns the days from one to another, both included; today and the days before it if they are left out.
 * @throws ApiError 400 `invalid_request` if they are in the wrong order or too many
 */
export function usageTime(range: { readonly from?: string; readonly to?: string }, now: Date): UsageTime {
  const to = range.to ?? dayOf(now.getTime())
  const last = Date.parse(`${to}T00:00:00.000Z`)
  const first =
    range.from === undefined ? last - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(`${range.from}T00:00:00.000Z`)
  const count = (last - first) / DAY_MS + 1
  if (count < 1) throw invalidField(['to'], 'must not be before `from`')
  if (count > usageLimits.days)
    throw invalidField(['from'], `must be at most ${usageLimits.days - 1} days before \`to\``)
  const days = Array.from({ length: count }, (_, at) => dayOf(first + at * DAY_MS))
  return { from: new Date(first), until: new Date(last + DAY_MS), days }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Days whose mean a forecast takes. */
export const LATELY_DAYS = 7

/** Returns the beginning of a month of UTC, and its end, which it does not include. */
export function monthOf(now: Date): { readonly from: Date; readonly until: Date } {
  const at = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))
  return { from: at(0), until: at(1) }
}

/** Returns the cost of a month at its end if its remaining days cost as much as the last seven times 24 hours. */
export function forecastOf(
  { month, lately }: { readonly month: number; readonly lately: number },
  until: Date,
  now: Date,
): UsageReport['forecast'] {
  const dayUsd = lately / LATELY_DAYS
  return { spentUsd: month, dayUsd, monthUsd: month + (dayUsd * (until.getTime() - now.getTime())) / DAY_MS }
}
