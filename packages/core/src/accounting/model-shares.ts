import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** What a model of a provider cost a Session. */
export interface ModelShare {
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly costUsd: number
  /** Requests whose cost is not known. */
  readonly unknown: number
}

/** Sums the requests to models of a Session's Runs, the dearest first, on the index of Runs. */
export async function sumModels(db: Queryable, key: SessionKey): Promise<ModelShare[]> {
  return await queryRows<ModelShare>(db, {
    name: 'sum-models-of-session',
    text: `
      select u.provider, u.model, sum(u.requests)::int as requests, sum(u.cost_usd)::float8 as "costUsd",
        sum(u.unknown_cost)::int as unknown
      from runs r
      join gateway_usage u on u.organization_id = r.organization_id and u.session_id = r.session_id and u.run_id = r.id
      where r.organization_id = $1 and r.session_id = $2 group by 1, 2 order by 4 desc, 1, 2`,
    values: [key.organizationId, key.sessionId],
  })
}
