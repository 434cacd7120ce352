import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { named, type UsageQuery, usageFilter } from './report-usage.ts'
import { listDailyUsage, type UsageFilter } from './usage-sql.ts'
import { DAY_MS, type UsageTime } from './usage-time.ts'

const titles = [
  'day',
  'kind',
  'id',
  'name',
  'requests',
  'failed',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_usd',
  'requests_of_unknown_cost',
]

/**
 * Returns the sums of `makeReport` as lines of CSV (RFC 4180), one for each group of each day. They are read a day at a time:
 * a year's Sessions are more than a process should hold.
 * @throws as `usageFilter`
 */
export function exportUsage(
  context: Pick<Context, 'db' | 'clock'>,
  person: PersonPrincipal,
  query: UsageQuery,
): { readonly name: string; readonly text: AsyncGenerator<string> } {
  const { filter, time } = usageFilter(context, person, query)
  return {
    name: `usage-by-${query.by}-${time.days[0]}-${time.days.at(-1)}.csv`,
    text: linesOf(context, person, filter, time),
  }
}

async function* linesOf(
  context: Pick<Context, 'db'>,
  { organizationId }: PersonPrincipal,
  filter: UsageFilter,
  { days }: UsageTime,
): AsyncGenerator<string> {
  yield lineOf(titles)
  for (const day of days) {
    const from = new Date(`${day}T00:00:00.000Z`)
    const rows = await listDailyUsage(context.db, { ...filter, from, until: new Date(from.getTime() + DAY_MS) })
    const groups = await named(context, organizationId, rows)
    const lines = rows.map((row, at) => [
      row.day,
      groups[at]?.kind,
      filter.by === 'day' ? row.day : groups[at]?.id,
      filter.by === 'day' ? row.day : groups[at]?.name,
      row.requests,
      row.failed,
      row.inputTokens,
      row.cachedInputTokens,
      row.cacheWriteTokens,
      row.outputTokens,
      row.reasoningTokens,
      row.costUsd,
      row.unknownCost,
    ])
    if (lines.length > 0) yield lines.map(lineOf).join('')
  }
}

const lineOf = (cells: readonly (string | number | null | undefined)[]): string => `${cells.map(cell).join(',')}\r\n`

/**
 * Writes one cell. Agents choose titles of Sessions, and a spreadsheet runs text that begins like a formula, so such text
 * gets an apostrophe in front.
 */
function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
