import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** The dimensions that a usage report can group by. */
export const usageGroupings = [
  'model',
  'provider',
  'organization',
  'installation',
  'person',
  'end-user',
  'key',
  'run',
  'day',
] as const
export type UsageGrouping = (typeof usageGroupings)[number]

/** The usage of one group. */
export interface UsageRow {
  readonly group: string
  readonly requests: number
  readonly failed: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number
  /** The number of requests with unknown cost, which `costUsd` leaves out. */
  readonly unknownCost: number
}

const groups: Readonly<Record<UsageGrouping, string>> = {
  model: 'model',
  provider: 'provider',
  organization: 'organization_id::text',
  installation: "coalesce(installation_id::text, '(none)')",
  person: "coalesce(person_id::text, '(none)')",
  // Two apps may call different people by one name.
  'end-user': "coalesce(installation_id || '/' || end_user_id, '(none)')",
  key: "coalesce(api_key_id::text, '(' || credential_kind || ')')",
  run: "coalesce(run_id::text, '(none)')",
  day: "to_char(started_at at time zone 'UTC', 'YYYY-MM-DD')",
}

/** Sums usage since a time, highest cost first, using the indexes on time. Requests that were summed up count from the start of
 * their day. */
export async function reportUsage(db: Queryable, by: UsageGrouping, since: Date): Promise<readonly UsageRow[]> {
  const { rows } = await db.query<UsageRow & { readonly costUsd: string | number }>({
    text: `
      select ${groups[by]} as "group", sum(requests)::bigint as requests,
        sum(failed)::bigint as failed,
        sum(input_tokens)::bigint as "inputTokens",
        sum(cached_input_tokens)::bigint as "cachedInputTokens",
        sum(cache_write_tokens)::bigint as "cacheWriteTokens",
        sum(output_tokens)::bigint as "outputTokens",
        sum(reasoning_tokens)::bigint as "reasoningTokens",
        sum(cost_usd) as "costUsd", sum(unknown_cost)::bigint as "unknownCost"
      from gateway_usage where started_at >= $1
      group by 1 order by sum(cost_usd) desc, 1`,
    values: [since],
  })
  return rows.map(row => ({ ...row, costUsd: Number(row.costUsd) }))
}
