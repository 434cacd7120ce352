import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Share of a budget at which its Session is told. */
export const TOLD_SHARE = 0.8

/** Whose spending a budget bounds. */
export type BudgetScope = 'session' | 'person' | 'installation' | 'organization'

/** A budget at which Runs wait for people, with the spending in its current period. */
export interface PausingBudget {
  readonly id: string
  readonly scope: BudgetScope
  readonly person_id: string | null
  readonly installation_id: string | null
  readonly set_by: 'operator' | 'organization'
  readonly period: 'day' | 'month' | 'total'
  readonly limit_usd: number
  readonly spent_usd: number
  /** The most that requests under way may cost. */
  readonly reserved_usd: number
  /** At least 80 percent are spent, and no Session was told. */
  readonly untold: boolean
  /** Nothing is left. */
  readonly is_reached: boolean
  /** Nothing may be left once the requests under way have ended. */
  readonly is_used_up: boolean
}

/** The Run that spends, and who it is for. */
export interface Spender extends SessionKey {
  readonly personId: string | null
  readonly installationId: string | null
}

/** The answer to a reservation. */
export interface Reservation {
  readonly kind: 'granted' | 'taken' | 'reached'
  /** Every budget at which the Run waits for people, in the order of their ids. */
  readonly budgets: readonly PausingBudget[]
}

const scopeOf = `case when b.session_id is not null then 'session' when b.person_id is not null then 'person'
  when b.installation_id is not null then 'installation' else 'organization' end as scope`

/** Judges the selected spending, in the database's numbers. */
const verdicts = `spent >= limit_usd as is_reached, spent + reserved >= limit_usd as is_used_up`

/**
 * Selects the spending of a budget's current period, at the time that a parameter holds. What is reserved stays over the end
 * of a period, because the requests that hold it count in the period in which they end.
 */
const current = (at: string) => `
  case when b.period_started_at < gateway_period_start(b.period, ${at}) then 0 else b.spent_usd end as spent,
  b.reserved_usd as reserved,
  b.period_started_at >= gateway_period_start(b.period, ${at}) and b.told_at is not null as told`

/**
 * Reserves the most that a request may cost in every budget at which its Run waits for people, so that of all requests
 * under way, in whatever process, one at most can lead over a limit. `taken`: only the requests under way stand against it.
 * `reached`: a limit is. Then nothing is reserved.
 *
 * A statement locks the budgets by id, as `keepRequests` does, and decides by the rows that it has locked.
 */
export async function reserveSpending(
  db: Queryable,
  spender: Spender,
  mostUsd: number,
  now: Date,
): Promise<Reservation> {
  const { rows } = await db.query<PausingBudget & { readonly fits: boolean }>({
    name: 'reserve-spending',
    text: `
      with locked as materialized (
        select b.id, b.person_id, b.installation_id, b.set_by, b.period, b.limit_usd, ${scopeOf}, ${current('$6')}
        from gateway_budgets b
        where b.on_reached = 'pause' and b.id in (select id from budgets_of($1, null, $2, $3, $4))
        order by b.id for no key update of b
      ), verdict as (
        select coalesce(bool_and(spent < limit_usd and (reserved = 0 or spent + reserved < limit_usd)), true) as fits
        from locked
      ), reserved as (
        update gateway_budgets b set spent_usd = l.spent, reserved_usd = l.reserved + $5,
          told_at = case when l.told then b.told_at end,
          period_started_at = greatest(b.period_started_at, gateway_period_start(b.period, $6))
        from locked l, verdict v where v.fits and b.id = l.id
      )
      select l.id, l.scope, l.person_id, l.installation_id, l.set_by, l.period, l.limit_usd::float8, l.spent::float8 as spent_usd,
        l.reserved::float8 as reserved_usd, not l.told and l.spent >= $7 * l.limit_usd as untold, ${verdicts}, v.fits
      from locked l, verdict v order by l.id`,
    values: [
      spender.organizationId,
      spender.sessionId,
      spender.personId,
      spender.installationId,
      mostUsd,
      now,
      TOLD_SHARE,
    ],
  })
  const kind = rows.every(({ fits }) => fits) ? 'granted' : rows.some(budget => budget.is_reached) ? 'reached' : 'taken'
  return { kind, budgets: rows }
}

/** Returns the budget as it is now; null if it is gone or does not let Runs wait any more. */
export async function findPausing(
  db: Queryable,
  organizationId: string,
  id: string,
  now: Date,
): Promise<PausingBudget | null> {
  const { rows } = await db.query<PausingBudget>({
    name: 'find-pausing-budget',
    text: `
      select id, scope, person_id, installation_id, set_by, period, limit_usd::float8, spent::float8 as spent_usd, reserved::float8 as reserved_usd,
        not told and spent >= $3 * limit_usd as untold, ${verdicts}
      from (
        select b.id, b.person_id, b.installation_id, b.set_by, b.period, b.limit_usd, ${scopeOf}, ${current('$2')} from gateway_budgets b
        where b.id = $1 and b.organization_id = $4 and b.on_reached = 'pause'
      ) found`,
    values: [id, now, TOLD_SHARE, organizationId],
  })
  return rows[0] ?? null
}

/** Notes that a Session is told of the share that is spent. @returns false if one was told before */
export async function noteTold(tx: Queryable, organizationId: string, id: string, now: Date): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'note-budget-told',
    text: `
      update gateway_budgets b set told_at = $2
      where id = $1 and organization_id = $3 and (told_at is null or told_at < gateway_period_start(period, $2)) returning 1`,
    values: [id, now, organizationId],
  })
  return rows.length > 0
}

/** The most that a limit may be, as the contract bounds it. */
export const mostBudgetUsd = 1e9

/**
 * Raises a budget by an amount, from the spending if that is more. One statement reads and writes, so that of two raises at
 * once each counts.
 * @returns the new limit; null if the budget is gone or does not let Runs wait any more
 */
export async function raiseLimit(
  tx: Queryable,
  organizationId: string,
  id: string,
  byUsd: number,
  now: Date,
): Promise<number | null> {
  const { rows } = await tx.query<{ limit_usd: number }>({
    text: `
      update gateway_budgets b set told_at = null,
        limit_usd = round(least($4, greatest(limit_usd, case when period_started_at < gateway_period_start(period, $3)
          then 0 else spent_usd end + reserved_usd) + $2::numeric), 6)
      where id = $1 and organization_id = $5 and on_reached = 'pause' returning limit_usd::float8`,
    values: [id, byUsd, now, mostBudgetUsd, organizationId],
  })
  return rows[0]?.limit_usd ?? null
}

/**
 * Sets or removes the budget of a Session. A new one begins with the Session's spending so far. The caller holds the
 * Session's lock.
 */
export async function setSessionBudget(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  limitUsd: number | null,
): Promise<void> {
  if (limitUsd === null) {
    await tx.query({
      text: 'delete from gateway_budgets where organization_id = $1 and session_id = $2',
      values: [organizationId, sessionId],
    })
    return
  }
  await tx.query({
    text: `
      insert into gateway_budgets (id, organization_id, session_id, period, limit_usd, period_started_at, set_by, on_reached,
        spent_usd)
      select gen_random_uuid(), $1, $2, 'total', $3, '-infinity', 'organization', 'pause', coalesce(sum(cost_usd), 0)
      from gateway_usage where organization_id = $1 and session_id = $2 and run_id is not null
      on conflict on constraint gateway_budgets_of_period
      do update set limit_usd = excluded.limit_usd, told_at = null`,
    values: [organizationId, sessionId, limitUsd],
  })
}
