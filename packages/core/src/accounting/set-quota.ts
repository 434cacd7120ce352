import { randomUUID } from 'node:crypto'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** The amount that an organization, or one of its keys, may spend on models in each period. */
export interface Quota {
  readonly organizationId: string
  /** Absent for a budget of the whole organization. */
  readonly apiKeyId?: string
  readonly period: 'day' | 'month' | 'total'
  /** Null removes the budget. */
  readonly limitUsd: number | null
}

/**
 * Sets, changes or removes a budget. Spending in the current period still counts against a changed budget.
 * @returns false if the organization does not have the key
 */
export async function setQuotaOf(db: Queryable, budget: Quota, now: Date): Promise<boolean> {
  const { organizationId, apiKeyId = null, period, limitUsd } = budget
  if (apiKeyId !== null) {
    const { rows } = await db.query({
      text: `
        select 1 from api_keys k join installations i on i.id = k.installation_id
        where k.id = $1 and i.organization_id = $2`,
      values: [apiKeyId, organizationId],
    })
    if (rows.length === 0) return false
  }
  if (limitUsd === null) {
    await db.query({
      text: `
        delete from gateway_budgets
        where organization_id = $1 and api_key_id is not distinct from $2 and period = $3
          and session_id is null and person_id is null and installation_id is null and set_by = 'operator'`,
      values: [organizationId, apiKeyId, period],
    })
    return true
  }
  await db.query({
    text: `
      insert into gateway_budgets (id, organization_id, api_key_id, period, limit_usd, period_started_at)
      values ($1, $2, $3, $4, $5, gateway_period_start($4, $6))
      on conflict on constraint gateway_budgets_of_period do update set limit_usd = excluded.limit_usd`,
    values: [randomUUID(), organizationId, apiKeyId, period, limitUsd, now],
  })
  return true
}
