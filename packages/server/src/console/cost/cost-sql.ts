import type { SessionCost } from '@berth/contract'
import { type GatewayUsage, noUsage } from '@berth/core/accounting/upstream.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const kinds = Object.keys(noUsage) as (keyof GatewayUsage)[]
const sums = kinds.map(kind => `coalesce(sum((usage ->> '${kind}')::bigint), 0)::bigint as "${kind}"`)

const times = ['modelMs', 'peopleMs', 'toolsMs', 'platformMs'] as const

interface Spent extends GatewayUsage {
  readonly usd: number
  readonly complete: boolean
  readonly time: NonNullable<SessionCost['time']>
}

/** Sums what the ended Runs of a Session have spent. */
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
  return rows[0] ?? { usd: 0, complete: true, ...noUsage, time: { modelMs: 0, peopleMs: 0, toolsMs: 0, platformMs: 0 } }
}

/** Adds the tokens of two, kind by kind. */
export const addUsage = (a: GatewayUsage, b: GatewayUsage): GatewayUsage =>
  Object.fromEntries(kinds.map(kind => [kind, a[kind] + b[kind]])) as unknown as GatewayUsage
