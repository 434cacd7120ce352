import type { SessionCost } from '@berth/contract'
import { NOTICE_SHARE, scopeOf } from '@berth/core/accounting/pausing-budgets.ts'
import { type GatewayUsage, noUsage } from '@berth/core/accounting/upstream.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const kinds = Object.keys(noUsage) as (keyof GatewayUsage)[]
const sums = kinds.map(kind => `coalesce(sum((usage ->> '${kind}')::bigint), 0)::bigint as "${kind}"`)

const parts = ['queueMs', 'sandboxMs', 'agentStartMs', 'sealMs'] as const
const times = ['modelMs', 'peopleMs', 'toolsMs', 'platformMs', ...parts] as const
const noTime = Object.fromEntries(times.map(name => [name, 0])) as Record<(typeof times)[number], number>

interface Spent extends GatewayUsage {
  readonly usd: number
  readonly complete: boolean
  readonly time: NonNullable<SessionCost['time']>
}

/** Sums the spending of a Session's ended Runs. */
export async function sumEndedRuns(db: Queryable, { organizationId, sessionId }: SessionKey): Promise<Spent> {
  const { rows } = await db.query<Spent>({
    name: 'sum-ended-runs',
    text: `
      select coalesce(sum(cost_usd), 0)::double precision as usd,
        coalesce(bool_and(cost_complete is distinct from false), true) as complete, ${sums.join(', ')},
        json_build_object(${times.map(name => `'${name}', coalesce(sum((time ->> '${name}')::bigint), 0)`).join(', ')}) as time
      from runs where organization_id = $1 and session_id = $2 and ended_at is not null`,
    values: [organizationId, sessionId],
  })
  return rows[0] ?? { usd: 0, complete: true, ...noUsage, time: noTime }
}

/**
 * Returns the budgets of others than the Session itself that hold it and are mostly spent, the nearest first. The amounts of a
 * person's budget are for that person and administrators.
 */
export async function listNearBudgets(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
  { id, role }: Pick<PersonPrincipal, 'id' | 'role'>,
  now: Date,
): Promise<SessionCost['near']> {
  const { rows } = await db.query<SessionCost['near'][number] & { readonly person_id: string | null }>({
    name: 'list-near-budgets',
    text: `
      select ${scopeOf}, b.person_id, b.spent_usd::float8 as "spentUsd", b.limit_usd::float8 as "limitUsd"
      from sessions s cross join lateral budgets_of(s.organization_id, null, null,
        case s.owner_kind when 'person' then s.owner_id else s.initiated_by end,
        case s.owner_kind when 'app_installation' then s.owner_id end) b
      where s.organization_id = $1 and s.id = $2 and b.period_started_at >= gateway_period_start(b.period, $3)
        and b.spent_usd >= ${NOTICE_SHARE} * b.limit_usd
      order by b.spent_usd / nullif(b.limit_usd, 0) desc nulls first`,
    values: [organizationId, sessionId, now],
  })
  return rows.map(({ scope, person_id: whose, ...amounts }) =>
    whose === null || whose === id || role === 'admin' ? { scope, ...amounts } : { scope },
  )
}

/** Adds the tokens of two, kind by kind. */
export const addUsage = (a: GatewayUsage, b: GatewayUsage): GatewayUsage =>
  Object.fromEntries(kinds.map(kind => [kind, a[kind] + b[kind]])) as unknown as GatewayUsage
