import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** A budget of a whole organization or of one of its people or installations, with what is spent in the current period. */
export interface BudgetRow {
  readonly person_id: string | null
  readonly installation_id: string | null
  readonly on_reached: 'pause' | 'refuse'
  readonly period: 'day' | 'month' | 'total'
  readonly set_by: 'operator' | 'organization'
  readonly limit_usd: number
  readonly spent_usd: number
  /** Null if it never resets. */
  readonly resets_at: Date | null
}

/** Lists the budgets of a whole organization, and then those of its people and installations. */
export async function listBudgets(db: Queryable, organizationId: string, now: Date): Promise<readonly BudgetRow[]> {
  return await queryRows<BudgetRow>(db, {
    name: 'list-budgets',
    text: `
      select person_id, installation_id, on_reached, period, set_by, limit_usd::float8 as limit_usd,
        (case when period_started_at < gateway_period_start(period, $2) then 0 else spent_usd end)::float8 as spent_usd,
        case when period <> 'total' then gateway_period_end(period, $2) end as resets_at
      from gateway_budgets where organization_id = $1 and session_id is null and api_key_id is null
      order by num_nonnulls(person_id, installation_id), person_id, installation_id, array_position(array['day', 'month', 'total'], period), set_by desc`,
    values: [organizationId, now],
  })
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
