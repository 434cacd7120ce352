import { usageLimits } from '@berth/contract'
import { invalidField } from '@berth/platform/kit/refusal.ts'

const DAY_MS = 24 * 60 * 60_000
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
