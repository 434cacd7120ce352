import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** What a model cost a Session. */
export interface ModelShare {
  readonly model: string
  readonly costUsd: number
  readonly requests: number
  /** Requests whose cost is not known. */
  readonly unknown: number
}

/** Sums what each model cost in a Session, the dearest first, on the indexes of Runs and of days. */
export async function sumModels(db: Queryable, key: SessionKey, since: Date): Promise<ModelShare[]> {
  const { rows } = await db.query<ModelShare>({
    name: 'sum-models-of-session',
    text: `
      select model, sum(cost_usd)::float8 as "costUsd", sum(requests)::integer as requests,
        sum(unknown_cost)::integer as unknown
      from gateway_usage
      where organization_id = $1 and session_id = $2 and started_at >= date_trunc('day', $3::timestamptz, 'UTC')
      group by model order by 2 desc, 3 desc, 1`,
    values: [key.organizationId, key.sessionId, since],
  })
  return rows
}
