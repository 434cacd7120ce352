import type { Context } from '../../context.ts'
import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import { named, type UsageQuery, usageFilter } from './report-usage.ts'
import { listDailyUsage } from './usage-sql.ts'

const titles = [
  'day',
  'kind',
  'id',
  'name',
  'requests',
  'failed',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_usd',
  'requests_of_unknown_cost',
]

/** Returns what `makeReport` sums as lines of CSV (RFC 4180), one for each group of each day. @throws as `usageFilter` */
export async function exportUsage(
  context: Pick<Context, 'db' | 'clock'>,
  person: PersonPrincipal,
  query: UsageQuery,
): Promise<{ readonly name: string; readonly text: string }> {
  const { filter, time } = usageFilter(context, person, query)
  const rows = await listDailyUsage(context.db, filter)
  const groups = await named(context, person.organizationId, rows)
  const lines = rows.map((row, at) => [
    row.day,
    groups[at]?.kind,
    query.by === 'day' ? row.day : groups[at]?.id,
    query.by === 'day' ? row.day : groups[at]?.name,
    row.requests,
    row.failed,
    row.inputTokens,
    row.cachedInputTokens,
    row.outputTokens,
    row.reasoningTokens,
    row.costUsd,
    row.unknownCost,
  ])
  return {
    name: `usage-by-${query.by}-${time.days[0]}-${time.days.at(-1)}.csv`,
    text: [titles, ...lines].map(line => `${line.map(cell).join(',')}\r\n`).join(''),
  }
}

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
