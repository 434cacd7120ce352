import type { RunBudgets } from '@berth/platform/settings/run-budgets.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Bounds that an organization sets for its own Runs. They tighten what its operator allows. */
export interface OwnRunBudgets {
  readonly costUsd: number | null
  readonly turns: number | null
  readonly seconds: number | null
}

interface RunBudgetsRow {
  readonly cost_usd: string | null
  readonly turns: number | null
  readonly seconds: number | null
  readonly own_cost_usd: string | null
  readonly own_turns: number | null
  readonly own_seconds: number | null
}

const numberOf = (value: string | number | null): number | null => (value === null ? null : Number(value))

/** Returns what the operator allows a Run of an organization, and what the organization sets itself. */
export async function readRunBudgets(
  db: Queryable,
  organizationId: string,
  deployment: RunBudgets,
): Promise<{ readonly operator: RunBudgets; readonly own: OwnRunBudgets }> {
  const { rows } = await db.query<RunBudgetsRow>({
    name: 'find-run-budgets',
    text: `
      select cost_usd, turns, seconds, own_cost_usd, own_turns, own_seconds from organization_limits
      where organization_id = $1`,
    values: [organizationId],
  })
  const row = rows[0]
  const costUsd = numberOf(row?.cost_usd ?? null)
  const { turns = null, seconds = null } = row ?? {}
  return {
    operator: {
      ...deployment,
      ...(costUsd !== null && { costUsd }),
      ...(turns !== null && { turns }),
      ...(seconds !== null && { seconds }),
    },
    own: {
      costUsd: numberOf(row?.own_cost_usd ?? null),
      turns: row?.own_turns ?? null,
      seconds: row?.own_seconds ?? null,
    },
  }
}

/** Returns the tighter of two bounds for each member. */
export function tighter(operator: RunBudgets, own: OwnRunBudgets): RunBudgets {
  const least = (a: number | undefined, b: number | null) => (b === null ? a : a === undefined ? b : Math.min(a, b))
  const [costUsd, turns, seconds] = [
    least(operator.costUsd, own.costUsd),
    least(operator.turns, own.turns),
    least(operator.seconds, own.seconds),
  ]
  return {
    ...(costUsd !== undefined && { costUsd }),
    ...(turns !== undefined && { turns }),
    ...(seconds !== undefined && { seconds }),
  }
}

/**
 * Returns the deployment's budgets of a Run, each replaced by the operator's for the organization if there is one, and
 * tightened by the organization's own.
 */
export async function findRunBudgets(
  db: Queryable,
  organizationId: string,
  deployment: RunBudgets,
): Promise<RunBudgets> {
  const { operator, own } = await readRunBudgets(db, organizationId, deployment)
  return tighter(operator, own)
}

/** Sets the bounds that an organization gives its own Runs. */
export async function setOwnRunBudgets(db: Queryable, organizationId: string, own: OwnRunBudgets): Promise<void> {
  await db.query({
    text: `
      insert into organization_limits (organization_id, own_cost_usd, own_turns, own_seconds) values ($1, $2, $3, $4)
      on conflict (organization_id) do update
      set own_cost_usd = excluded.own_cost_usd, own_turns = excluded.own_turns, own_seconds = excluded.own_seconds`,
    values: [organizationId, own.costUsd, own.turns, own.seconds],
  })
}

/** Sets the operator's budgets for an organization; the deployment's applies again to each that is absent. */
export async function setRunBudgets(db: Queryable, organizationId: string, budgets: RunBudgets): Promise<void> {
  await db.query({
    text: `
      insert into organization_limits (organization_id, cost_usd, turns, seconds) values ($1, $2, $3, $4)
      on conflict (organization_id) do update
      set cost_usd = excluded.cost_usd, turns = excluded.turns, seconds = excluded.seconds`,
    values: [organizationId, budgets.costUsd ?? null, budgets.turns ?? null, budgets.seconds ?? null],
  })
}
