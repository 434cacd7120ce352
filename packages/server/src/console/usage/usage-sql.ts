import type { UsageGrouping, UsageSums } from '@berth/contract'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { statementName } from '@berth/platform/storage/postgres/statement-name.ts'

/** The requests that a report is about. */
export interface UsageFilter {
  readonly organizationId: string
  readonly by: UsageGrouping
  /** Only this person's; null: everybody's. */
  readonly personId: string | null
  readonly from: Date
  /** Exclusive. */
  readonly until: Date
}

/** One group of a report, or one of its days, with `key` as `<kind>:<id>`. */
export interface UsageRow extends UsageSums {
  readonly part: 'group' | 'day' | 'series' | 'left'
  /** `YYYY-MM-DD`; null for the sum of all days. */
  readonly day: string | null
  readonly key: string | null
  /** Name of the repository when the Session was made; null for other groups. */
  readonly label: string | null
  /** Place of the group by cost, from 1; of `left` the number of groups. */
  readonly rank: number | null
}

/** The groups that a request counts for. A request of an integration or an app's backend has no person. */
const keys: Readonly<Record<UsageGrouping, string>> = {
  day: `'day:'`,
  model: `'model:' || g.model`,
  person: `coalesce('person:' || g.person_id, 'installation:' || g.installation_id, 'none:')`,
  repository: `coalesce('repository:' || (s.source ->> 'kind') || ':' || (s.source ->> 'repositoryId'), 'none:')`,
  trigger: `coalesce('trigger:' || s.trigger_id, 'none:')`,
  session: `coalesce('session:' || g.session_id, 'none:')`,
}

const daily = ({ by, personId }: UsageFilter): string => `
  select to_char(g.started_at at time zone 'UTC', 'YYYY-MM-DD') as day, ${keys[by]} as key,
    ${by === 'repository' ? `max(s.source ->> 'label')` : 'null::text'} as label,
    sum(g.requests)::integer as requests, sum(g.failed)::integer as failed, sum(g.input_tokens)::bigint as input,
    sum(g.cached_input_tokens)::bigint as cached, sum(g.cache_write_tokens)::bigint as written, sum(g.output_tokens)::bigint as output,
    sum(g.reasoning_tokens)::bigint as reasoning, sum(g.cost_usd) as cost, sum(g.unknown_cost)::integer as unknown
  from gateway_usage g
  ${by === 'repository' || by === 'trigger' ? 'left join sessions s on s.organization_id = g.organization_id and s.id = g.session_id' : ''}
  where g.organization_id = $1 and g.started_at >= $2 and g.started_at < $3 ${personId === null ? '' : 'and g.person_id = $4'}
  group by 1, 2`

const sums = `
  sum(requests)::integer as requests, sum(failed)::integer as failed, sum(input)::bigint as "inputTokens",
  sum(cached)::bigint as "cachedInputTokens", sum(written)::bigint as "cacheWriteTokens", sum(output)::bigint as "outputTokens",
  sum(reasoning)::bigint as "reasoningTokens", sum(cost)::float8 as "costUsd", sum(unknown)::integer as "unknownCost"`

const valuesOf = ({ organizationId, personId, from, until }: UsageFilter): unknown[] => [
  organizationId,
  from,
  until,
  ...(personId === null ? [] : [personId]),
]

/**
 * Returns the dearest groups, the days of the very dearest, and every day with usage. One pass over the requests, on
 * `gateway_requests_of_organization` or `gateway_requests_of_person`, and over the sums of older ones makes a sum for each group and day.
 */
export async function reportUsage(
  db: Queryable,
  filter: UsageFilter,
  { groups, series }: { readonly groups: number; readonly series: number },
): Promise<readonly UsageRow[]> {
  const text = `
    with daily as materialized (${daily(filter)}),
    ranked as (
      select key, max(label) as label, ${sums},
        row_number() over (order by sum(cost) desc, sum(requests) desc, key)::integer as rank
      from daily group by key)
    select 'group' as part, null as day, key, label, rank, requests, failed, "inputTokens", "cachedInputTokens",
      "cacheWriteTokens", "outputTokens", "reasoningTokens", "costUsd", "unknownCost"
      from ranked where rank <= ${groups}
    union all
    select 'day', day, null, null, null, ${sums} from daily group by day
    union all
    select 'series', d.day, d.key, null, r.rank, d.requests, d.failed, d.input, d.cached, d.written, d.output,
      d.reasoning, d.cost::float8, d.unknown
      from daily d join ranked r on r.key = d.key and r.rank <= ${series}
    union all
    select 'left', null, null, null, max(rank), 0, 0, 0, 0, 0, 0, 0, 0, 0 from ranked
    order by 1, 5, 2`
  return await queryRows<UsageRow>(db, {
    name: statementName('report-usage', text),
    text,
    values: valuesOf(filter),
  })
}

/** Returns each group of each day, the days in order and the dearest group of a day first. */
export async function listDailyUsage(db: Queryable, filter: UsageFilter): Promise<readonly UsageRow[]> {
  const text = `
    with daily as (${daily(filter)})
    select 'series' as part, day, key, label, null as rank, requests, failed, input as "inputTokens",
      cached as "cachedInputTokens", written as "cacheWriteTokens", output as "outputTokens", reasoning as "reasoningTokens",
      cost::float8 as "costUsd", unknown as "unknownCost"
    from daily order by day, cost desc, key`
  return await queryRows<UsageRow>(db, {
    name: statementName('list-daily-usage', text),
    text,
    values: valuesOf(filter),
  })
}

/** Returns how people call people, integrations, apps, triggers and Sessions of an organization, by id. */
export async function findUsageNames(
  db: Queryable,
  organizationId: string,
  ids: { readonly [kind in 'person' | 'installation' | 'trigger' | 'session']?: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ id: string; name: string }>({
    name: 'find-usage-names',
    text: `
      select p.id, p.name from people p
        where p.id = any($2::uuid[])
          and exists (select from memberships m where m.person_id = p.id and m.organization_id = $1)
      union all
      select i.id, coalesce(i.name, a.name) from installations i join apps a on a.slug = i.app_slug
        where i.organization_id = $1 and i.id = any($3::uuid[])
      union all
      select s.id, s.title from sessions s where s.organization_id = $1 and s.id = any($4::uuid[])
      union all
      select t.id, t.name from triggers t where t.organization_id = $1 and t.id::text = any($5)`,
    values: [organizationId, ids.person ?? [], ids.installation ?? [], ids.session ?? [], ids.trigger ?? []],
  })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The cost of a month so far, and of the last days. */
export interface Spending {
  readonly month: number
  readonly lately: number
}

/** Sums the cost since two times, on the same indexes as a report. */
export async function sumSpending(
  db: Queryable,
  { organizationId, personId }: Pick<UsageFilter, 'organizationId' | 'personId'>,
  { month, lately }: Readonly<Record<keyof Spending, Date>>,
): Promise<Spending> {
  const text = `
    select coalesce(sum(cost_usd) filter (where started_at >= $2), 0)::float8 as month,
      coalesce(sum(cost_usd) filter (where started_at >= $3), 0)::float8 as lately
    from gateway_usage
    where organization_id = $1 and started_at >= least($2, $3) ${personId === null ? '' : 'and person_id = $4'}`
  const values = [organizationId, month, lately, ...(personId === null ? [] : [personId])]
  const { rows } = await db.query<Spending>({ name: statementName('sum-spending', text), text, values })
  return rows[0] ?? { month: 0, lately: 0 }
}

/** Counts the pull requests that Berth merged in a time, of everybody's Sessions or of those of one person. */
export async function countMerged(
  db: Queryable,
  { organizationId, personId, from, until }: Omit<UsageFilter, 'by'>,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'count-merged-pulls',
    text: `
      select count(distinct (m.session_id, m.pull_number))::integer as count
      from merges m join sessions s on s.organization_id = m.organization_id and s.id = m.session_id
      where m.organization_id = $1 and m.status = 'succeeded' and m.ended_at >= $2 and m.ended_at < $3
        and ($4::uuid is null or $4 = case s.owner_kind when 'person' then s.owner_id else s.initiated_by end)`,
    values: [organizationId, from, until, personId],
  })
  return rows[0]?.count ?? 0
}
