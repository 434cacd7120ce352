import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const ofWhole = 'session_id is null and num_nonnulls(api_key_id, person_id, installation_id) = 0'

/** A budget of a whole organization, with what it has spent in the current period. */
export interface BudgetRow {
  readonly period: 'day' | 'month' | 'total'
  readonly set_by: 'operator' | 'organization'
  readonly limit_usd: number
  readonly spent_usd: number
  /** Null if it never resets. */
  readonly resets_at: Date | null
}

/** Lists the budgets of a whole organization. */
export async function listBudgets(db: Queryable, organizationId: string, now: Date): Promise<readonly BudgetRow[]> {
  const { rows } = await db.query<BudgetRow>({
    name: 'list-budgets',
    text: `
      select period, set_by, limit_usd::float8 as limit_usd,
        (case when period_started_at < gateway_period_start(period, $2) then 0 else spent_usd end)::float8 as spent_usd,
        case when period <> 'total' then gateway_period_end(period, $2) end as resets_at
      from gateway_budgets where organization_id = $1 and ${ofWhole}
      order by array_position(array['day', 'month', 'total'], period), set_by desc`,
    values: [organizationId, now],
  })
  return rows
}

/** What an organization lets itself spend in a period; null removes the budget. */
export interface OwnBudget {
  readonly period: 'day' | 'month'
  readonly limitUsd: number | null
}

/**
 * Sets, changes or removes budgets that an organization gives itself. A new one begins with what the organization has
 * spent in the period, on `gateway_requests_of_organization`. While a budget is locked the costs of all organizations
 * may wait for it, so that is summed before, and the locks are taken in the order of `keepRequests`.
 */
export async function setOwnBudgets(
  db: Queryable,
  organizationId: string,
  budgets: readonly OwnBudget[],
  now: Date,
): Promise<void> {
  if (budgets.length === 0) return
  const periods = budgets.map(({ period }) => period)
  const { rows: kept } = await db.query<{ period: string }>({
    text: `
      select period from gateway_budgets
      where organization_id = $1 and ${ofWhole} and period = any($2) and set_by = 'organization'`,
    values: [organizationId, periods],
  })
  const added = budgets.filter(({ period, limitUsd }) => limitUsd !== null && !kept.some(row => row.period === period))
  const spent = await spentIn(db, organizationId, added, now)
  await db.query({
    text: `
      with wanted as (select * from unnest($2::text[], $3::numeric[]) as w (period, limit_usd)), locked as materialized (
        select b.id, w.limit_usd from gateway_budgets b join wanted w on w.period = b.period
        where b.organization_id = $1 and ${ofWhole} and b.set_by = 'organization'
        order by b.id for update of b
      ), removed as (
        delete from gateway_budgets b using locked l where b.id = l.id and l.limit_usd is null
      )
      update gateway_budgets b set limit_usd = l.limit_usd from locked l where b.id = l.id and l.limit_usd is not null`,
    values: [organizationId, periods, budgets.map(({ limitUsd }) => limitUsd)],
  })
  for (const { period, limitUsd } of added) {
    await db.query({
      text: `
        insert into gateway_budgets (id, organization_id, period, limit_usd, period_started_at, set_by, spent_usd)
        values ($1, $2, $3, $4, gateway_period_start($3, $5), 'organization', $6)
        on conflict on constraint gateway_budgets_of_period do update set limit_usd = excluded.limit_usd`,
      values: [randomUUID(), organizationId, period, limitUsd, now, spent.get(period) ?? '0'],
    })
  }
}

/** Returns what an organization has spent in the current one of each period. */
async function spentIn(
  db: Queryable,
  organizationId: string,
  budgets: readonly OwnBudget[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  if (budgets.length === 0) return new Map()
  const { rows } = await db.query<{ period: string; usd: string }>({
    text: `
      select p.period, (
        select coalesce(sum(cost_usd), 0) from gateway_usage
        where organization_id = $1 and started_at >= gateway_period_start(p.period, $3)) as usd
      from unnest($2::text[]) as p (period)`,
    values: [organizationId, budgets.map(({ period }) => period), now],
  })
  return new Map(rows.map(({ period, usd }) => [period, usd]))
}

/** Returns the catalog ids that an organization may use; null: all. */
export async function findAllowedModels(db: Queryable, organizationId: string): Promise<ReadonlySet<string> | null> {
  const { rows } = await db.query<{ models: string[] | null }>({
    name: 'find-allowed-models',
    text: 'select models from organization_limits where organization_id = $1',
    values: [organizationId],
  })
  const models = rows[0]?.models ?? null
  return models === null ? null : new Set(models)
}
