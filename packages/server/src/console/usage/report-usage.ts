import { type UsageGroup, type UsageGrouping, type UsageReport, type UsageSums, usageLimits } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { countMerged, findUsageNames, reportUsage, sumSpending, type UsageFilter, type UsageRow } from './usage-sql.ts'
import { DAY_MS, forecastOf, LATELY_DAYS, monthOf, type UsageTime, usageTime } from './usage-time.ts'

/** The query of a report, as the contract has it. */
export interface UsageQuery {
  readonly by: UsageGrouping
  readonly whose: 'me' | 'organization'
  readonly from?: string
  readonly to?: string
}

const nothing = {
  requests: 0,
  failed: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costUsd: 0,
  unknownCost: 0,
} satisfies UsageSums

const sumNames = Object.keys(nothing) as (keyof typeof nothing)[]

/**
 * Returns which requests a person asks about.
 * @throws ApiError 403 `insufficient_scope` if only an administrator may
 * @throws ApiError 400 `invalid_request` for days in the wrong order, or too many
 */
export function usageFilter(
  { clock }: Pick<Context, 'clock'>,
  { organizationId, id, role }: PersonPrincipal,
  { by, whose, ...days }: UsageQuery,
): { readonly filter: UsageFilter; readonly time: UsageTime } {
  if (whose === 'organization' && role !== 'admin') {
    throw refusal('insufficient_scope', { requiredScope: 'organization.administer' })
  }
  const time = usageTime(days, clock.now())
  return {
    filter: { organizationId, by, personId: whose === 'me' ? id : null, from: time.from, until: time.until },
    time,
  }
}

/** Returns the use of models by an organization, or by one person in it. @throws as `usageFilter` */
export async function makeReport(
  context: Pick<Context, 'db' | 'clock'>,
  person: PersonPrincipal,
  query: UsageQuery,
): Promise<UsageReport> {
  const { filter, time } = usageFilter(context, person, query)
  const { by, whose } = query
  const { db, clock } = context
  const now = clock.now()
  const month = monthOf(now)
  const lately = new Date(now.getTime() - LATELY_DAYS * DAY_MS)
  const [rows, mergedPullRequests, spending] = await Promise.all([
    reportUsage(db, filter, usageLimits),
    countMerged(db, filter),
    sumSpending(db, filter, { month: month.from, lately }),
  ])
  const of = (part: UsageRow['part']) => rows.filter(row => row.part === part)
  const byDay = new Map(of('day').map(row => [row.day, sumsOf(row)]))
  const days = time.days.map(day => ({ day, ...(byDay.get(day) ?? nothing) }))
  const report = {
    from: time.days[0] ?? '',
    to: time.days.at(-1) ?? '',
    by,
    whose,
    days,
    total: add(days),
    mergedPullRequests,
    forecast: forecastOf(spending, month.until, now),
  }
  if (by === 'day') {
    const groups = days.map(({ day, ...sums }) => ({ kind: 'day', id: day, name: day, ...sums }))
    return { ...report, groups, left: 0, series: [] }
  }
  const listed = of('group')
  return {
    ...report,
    groups: await named(context, person.organizationId, listed),
    left: Math.max(0, (of('left')[0]?.rank ?? 0) - listed.length),
    series: listed.slice(0, usageLimits.series).map(({ key }) => {
      const own = new Map(of('series').flatMap(row => (row.key === key ? [[row.day, row] as const] : [])))
      const each = (pick: (row: UsageRow) => number) =>
        time.days.map(day => {
          const row = own.get(day)
          return row === undefined ? 0 : pick(row)
        })
      return {
        costUsd: each(row => row.costUsd),
        requests: each(row => row.requests),
        tokens: each(row => row.inputTokens + row.outputTokens),
      }
    }),
  }
}

/** Returns rows as groups, with the names that they have now. */
export async function named(
  { db }: Pick<Context, 'db'>,
  organizationId: string,
  rows: readonly UsageRow[],
): Promise<UsageGroup[]> {
  const split = rows.map(row => ({ row, ...splitKey(row.key ?? 'none:') }))
  const idsOf = (wanted: string) => [...new Set(split.flatMap(({ kind, id }) => (kind === wanted && id ? [id] : [])))]
  const names = await findUsageNames(db, organizationId, {
    person: idsOf('person'),
    installation: idsOf('installation'),
    session: idsOf('session'),
    trigger: idsOf('trigger'),
  })
  return split.map(({ row, kind, id }) => ({
    kind,
    id,
    name: kind === 'model' || kind === 'day' ? id : (row.label ?? names.get(id ?? '') ?? null),
    ...sumsOf(row),
  }))
}

function splitKey(key: string): { readonly kind: string; readonly id: string | null } {
  const at = key.indexOf(':')
  return { kind: key.slice(0, at), id: key.slice(at + 1) || null }
}

const sumsOf = ({ part: _p, day: _d, key: _k, label: _l, rank: _r, ...sums }: UsageRow): UsageSums => sums

const add = (parts: readonly UsageSums[]): UsageSums => {
  const sum = { ...nothing }
  for (const part of parts) for (const name of sumNames) sum[name] += part[name]
  return sum
}
