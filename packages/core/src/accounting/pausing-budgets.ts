import { randomUUID } from 'node:crypto'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { lapsedProcesses } from '@berth/platform/processes/process-sql.ts'
import { type Database, type Queryable, queryAny, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { activeRunOf, endOverdue, holdBudgets, keepRequests, type RequestRecord } from './gateway-request-sql.ts'

/** Share of a budget at which its Session is told. */
export const NOTICE_SHARE = 0.8

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
  readonly unreported: boolean
  /** Nothing is left. */
  readonly is_reached: boolean
  /** Nothing may be left once the requests under way have ended. */
  readonly is_used_up: boolean
}

/** The answer to a reservation. */
export interface Reservation {
  readonly kind: 'granted' | 'taken' | 'reached'
  /** Every budget at which the Run waits for people, in the order of their ids. */
  readonly budgets: readonly PausingBudget[]
}

/** Selects whose spending the budget `b` bounds. */
export const scopeOf = `case when b.session_id is not null then 'session' when b.person_id is not null then 'person'
  when b.installation_id is not null then 'installation' else 'organization' end as scope`

/** The columns of a budget whose spending is selected, and the verdicts on it. */
const judged = `id, scope, person_id, installation_id, set_by, period, limit_usd::float8, spent::float8 as spent_usd,
  reserved::float8 as reserved_usd, not notified and spent >= ${NOTICE_SHARE} * limit_usd as unreported, spent >= limit_usd as is_reached,
  spent + reserved >= limit_usd as is_used_up`

/**
 * Selects a budget and the spending of its current period, at the time that a parameter holds. What is reserved stays over the
 * end of a period, because the requests that hold it count in the period in which they end.
 */
const current = (at: string) => `
  select b.id, b.person_id, b.installation_id, b.set_by, b.period, b.limit_usd, ${scopeOf}, b.reserved_usd as reserved,
    case when b.period_started_at < gateway_period_start(b.period, ${at}) then 0 else b.spent_usd end as spent,
    coalesce(b.notified_at >= gateway_period_start(b.period, ${at}), false) as notified
  from gateway_budgets b`

/**
 * Opens a request, and reserves the most that it may cost in every budget at which its Run waits for people, so that of all
 * requests under way, in whatever process, one at most can lead over a limit. Both are one transaction: a gateway that is killed
 * leaves no reservation that the end of the Run does not find. `taken`: only the requests under way stand against it.
 * `reached`: a limit is. Then nothing is written.
 *
 * It locks the budgets by id, as `keepRequests` does, and decides by the rows that it has locked.
 */
export async function reserveSpending(db: Database, request: RequestRecord, now: Date): Promise<Reservation> {
  const { organizationId, sessionId, personId, installationId } = request
  return db.transaction(async tx => {
    const held = holdBudgets(tx, [organizationId], 'shared')
    const found = tx.query<PausingBudget & { readonly fits: boolean }>({
      name: 'lock-pausing-budgets',
      text: `
        with locked as materialized (
          ${current('$5')}
          where b.on_reached = 'pause' and b.id in (select id from budgets_of($1, null, $2, $3, $4))
          order by b.id for no key update of b
        )
        select ${judged}, spent < limit_usd and (reserved = 0 or spent + reserved < limit_usd) as fits from locked order by id`,
      values: [organizationId, sessionId, personId, installationId, now],
    })
    const [{ rows: budgets }] = await Promise.all([found, held])
    const granted = budgets.every(({ fits }) => fits)
    if (granted) await keepRequests(tx, [request], now)
    const kind = granted ? 'granted' : budgets.some(budget => budget.is_reached) ? 'reached' : 'taken'
    return { kind, budgets }
  })
}

/**
 * Returns the first of these budgets that is used up though every request under way ends at no cost: the rest of it is held by
 * requests whose process has lapsed. Nobody knows what they have cost until their Runs end. A silence counts as long as this
 * process is heard itself. The open requests are found by the Runs that have not ended; those of ended Runs are ended.
 */
export async function findLostBudget(
  db: Database,
  organizationId: string,
  ids: readonly string[],
  holder: string,
  now: Date,
): Promise<PausingBudget | null> {
  await db.transaction(tx => endOverdue(tx, organizationId, ids, now))
  return await queryRow<PausingBudget>(db, {
    name: 'find-lost-budget',
    text: `
      with lost as (
        select unnest(g.reserved_in) as budget, g.reserved_usd as usd
        from runs r join gateway_requests g
          on g.organization_id = r.organization_id and g.session_id = r.session_id and g.run_id = r.id
        where r.organization_id = $1 and r.ended_at is null and g.outcome = 'open' and g.reserved_in && $2::uuid[]
          and (not exists (select from processes p where p.id = g.holder)
            or g.holder in (select lapsed.id from ${lapsedProcesses('$3')}))
      )
      select ${judged} from (${current('$4')} where b.organization_id = $1 and b.id = any($2) and b.on_reached = 'pause') found
      where spent + (select coalesce(sum(usd), 0) from lost where budget = id) >= limit_usd order by id limit 1`,
    values: [organizationId, ids, holder, now],
  })
}

/** Returns the budget as it is now; null if it is gone or does not let Runs wait any more. */
export async function findPausing(
  db: Queryable,
  organizationId: string,
  id: string,
  now: Date,
): Promise<PausingBudget | null> {
  return await queryRow<PausingBudget>(db, {
    name: 'find-pausing-budget',
    text: `select ${judged} from (${current('$2')} where b.id = $1 and b.organization_id = $3 and b.on_reached = 'pause') found`,
    values: [id, now, organizationId],
  })
}

/** Notes that a Session is told of the share that is spent. @returns false if one was told before */
export async function noteAnnounced(tx: Queryable, organizationId: string, id: string, now: Date): Promise<boolean> {
  return await queryAny(tx, {
    name: 'note-budget-told',
    text: `
      update gateway_budgets b set notified_at = $2
      where id = $1 and organization_id = $3 and (notified_at is null or notified_at < gateway_period_start(period, $2)) returning 1`,
    values: [id, now, organizationId],
  })
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
      update gateway_budgets b set notified_at = null,
        limit_usd = round(least($4, greatest(limit_usd, case when period_started_at < gateway_period_start(period, $3)
          then 0 else spent_usd end + reserved_usd) + $2::numeric), 6)
      where id = $1 and organization_id = $5 and on_reached = 'pause' returning limit_usd::float8`,
    values: [id, byUsd, now, mostBudgetUsd, organizationId],
  })
  return rows[0]?.limit_usd ?? null
}

/**
 * Sets or removes the budget of a Session. A new one begins with what the Session has spent, and holds its requests under way.
 * The caller holds the Session's lock, and no row of a budget.
 */
export async function setSessionBudget(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  limitUsd: number | null,
): Promise<void> {
  const { rows } = await tx.query<{ id: string }>({
    text:
      limitUsd === null
        ? 'delete from gateway_budgets where organization_id = $1 and session_id = $2 and $3::numeric is null'
        : 'update gateway_budgets set limit_usd = $3, notified_at = null where organization_id = $1 and session_id = $2 returning id',
    values: [organizationId, sessionId, limitUsd],
  })
  if (limitUsd === null || rows.length > 0) return
  const held = holdBudgets(tx, [organizationId], 'alone')
  const added = addSessionBudget(tx, { organizationId, sessionId }, limitUsd)
  await held
  await holdOpen(tx, organizationId, await added)
}

/** Adds the budget of a Session, which has no request under way. @returns its id */
export async function addSessionBudget(
  tx: Queryable,
  { organizationId, sessionId }: SessionKey,
  limitUsd: number,
): Promise<string> {
  const id = randomUUID()
  await tx.query({
    text: `
      insert into gateway_budgets (id, organization_id, session_id, period, limit_usd, period_started_at, set_by, on_reached,
        spent_usd)
      select $4, $1, $2, 'total', $3, '-infinity', 'organization', 'pause', coalesce(sum(cost_usd), 0)
      from gateway_usage where organization_id = $1 and session_id = $2 and run_id is not null`,
    values: [organizationId, sessionId, limitUsd, id],
  })
  return id
}

/**
 * Lets a budget at which Runs wait hold what the open requests of active Runs may cost that it counts. None is open for a day.
 * The caller has the organization's budgets alone.
 */
export async function holdOpen(tx: Queryable, organizationId: string, budgetId: string): Promise<void> {
  await tx.query({
    text: `
      with open as (
        update gateway_requests g set reserved_in = g.reserved_in || b.id from gateway_budgets b
        where b.organization_id = $1 and b.id = $2 and b.on_reached = 'pause' and b.api_key_id is null
          and g.organization_id = $1 and g.outcome = 'open' and g.started_at > now() - interval '1 day' and exists (${activeRunOf})
          and (b.session_id is null or b.session_id = g.session_id) and (b.person_id is null or b.person_id = g.person_id)
          and (b.installation_id is null or b.installation_id = g.installation_id) and not b.id = any(g.reserved_in)
        returning g.reserved_usd
      )
      update gateway_budgets set reserved_usd = reserved_usd + (select coalesce(sum(reserved_usd), 0) from open)
      where organization_id = $1 and id = $2`,
    values: [organizationId, budgetId],
  })
}
