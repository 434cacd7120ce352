import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { activeRunOf } from './gateway-request-sql.ts'

/** Most requests of one statement. */
const AT_ONCE = 5_000

/**
 * Puts sums in the place of the requests before a time. Reports read both through the view `gateway_usage`, so they say
 * the same before and after. Requests of a Run that has not ended stay, because its budget counts them, and so do open ones that a
 * budget holds.
 * @param signal ends the work between two statements
 * @returns the number of requests that were summed up
 */
export async function rollUpUsage(db: Queryable, before: Date, signal: AbortSignal): Promise<number> {
  for (let summed = 0; ; ) {
    signal.throwIfAborted()
    const count = await rollUpSome(db, before)
    summed += count
    if (count < AT_ONCE) return summed
  }
}

const dimensions = `organization_id, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id,
  run_id, provider, model`

async function rollUpSome(db: Queryable, before: Date): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'roll-up-usage',
    text: `
      with old as (
        select g.id from gateway_requests g
        where g.started_at < $1 and not exists (${activeRunOf}) and not (g.outcome = 'open' and exists (
          select from gateway_budgets b where b.organization_id = g.organization_id and b.id = any(g.reserved_in)))
        order by g.started_at limit $2
      ), gone as (
        delete from gateway_requests g using old where g.id = old.id returning g.*
      ), added as (
        insert into gateway_daily_usage as d (${dimensions}, started_at, requests, failed, input_tokens,
          cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd, unknown_cost)
        select ${dimensions}, date_trunc('day', started_at, 'UTC'), count(*), count(*) filter (where outcome = 'failed'),
          coalesce(sum(input_tokens), 0), coalesce(sum(cached_input_tokens), 0), coalesce(sum(cache_write_tokens), 0),
          coalesce(sum(output_tokens), 0),
          coalesce(sum(reasoning_tokens), 0), coalesce(sum(cost_usd), 0), count(*) filter (where cost_usd is null)
        from gone group by ${dimensions}, date_trunc('day', started_at, 'UTC')
        on conflict (organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id,
          session_id, run_id, provider, model) do update set
          requests = d.requests + excluded.requests, failed = d.failed + excluded.failed,
          input_tokens = d.input_tokens + excluded.input_tokens,
          cached_input_tokens = d.cached_input_tokens + excluded.cached_input_tokens,
          cache_write_tokens = d.cache_write_tokens + excluded.cache_write_tokens,
          output_tokens = d.output_tokens + excluded.output_tokens,
          reasoning_tokens = d.reasoning_tokens + excluded.reasoning_tokens,
          cost_usd = d.cost_usd + excluded.cost_usd, unknown_cost = d.unknown_cost + excluded.unknown_cost
      )
      select count(*)::integer as count from gone`,
    values: [before, AT_ONCE],
  })
  return rows[0]?.count ?? 0
}
