import type { RunBudgets } from '../../settings/run-budgets.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

/** Returns the deployment's budgets of a Run, each replaced by the organization's own if it has one. */
export async function findRunBudgets(
  db: Queryable,
  organizationId: string,
  deployment: RunBudgets,
): Promise<RunBudgets> {
  const { rows } = await db.query<{ cost_usd: string | null; turns: number | null; seconds: number | null }>({
    name: 'find-run-budgets',
    text: 'select cost_usd, turns, seconds from run_budgets where organization_id = $1',
    values: [organizationId],
  })
  const { cost_usd: costUsd = null, turns = null, seconds = null } = rows[0] ?? {}
  return {
    ...deployment,
    ...(costUsd !== null && { costUsd: Number(costUsd) }),
    ...(turns !== null && { turns }),
    ...(seconds !== null && { seconds }),
  }
}

/** Sets an organization's own budgets; the deployment's applies again to each that is absent. */
export async function setRunBudgets(db: Queryable, organizationId: string, budgets: RunBudgets): Promise<void> {
  await db.query({
    text: `
      insert into run_budgets (organization_id, cost_usd, turns, seconds) values ($1, $2, $3, $4)
      on conflict (organization_id) do update
      set cost_usd = excluded.cost_usd, turns = excluded.turns, seconds = excluded.seconds`,
    values: [organizationId, budgets.costUsd ?? null, budgets.turns ?? null, budgets.seconds ?? null],
  })
}
