import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { GatewayUsage } from './upstream.ts'

/** A Run's use of the gateway so far. */
export interface RunUsage {
  /** The number of model requests. */
  readonly requests: number
  readonly usage: GatewayUsage
  readonly costUsd: number
  /** False if a request has no known cost, or was not accounted to its end. */
  readonly costComplete: boolean
  /** The number of requests in progress, or left open by a killed gateway. */
  readonly open: number
}

/** Sums a Run's requests, using the index on Runs. A Run without requests costs nothing. */
export async function usageOfRun(
  db: Queryable,
  run: { readonly organizationId: string; readonly sessionId: string; readonly runId: string },
): Promise<RunUsage> {
  const { rows } = await db.query<{
    requests: number
    input: number
    cached: number
    written: number
    output: number
    reasoning: number
    cost: string
    complete: boolean
    open: number
  }>({
    name: 'usage-of-run',
    text: `
      select count(*) as requests, coalesce(sum(input_tokens), 0)::bigint as input,
        coalesce(sum(cached_input_tokens), 0)::bigint as cached, coalesce(sum(cache_write_tokens), 0)::bigint as written,
        coalesce(sum(output_tokens), 0)::bigint as output, coalesce(sum(reasoning_tokens), 0)::bigint as reasoning,
        coalesce(sum(cost_usd), 0) as cost, coalesce(bool_and(cost_usd is not null), true) as complete,
        count(*) filter (where outcome = 'open') as open
      from gateway_requests where organization_id = $1 and session_id = $2 and run_id = $3`,
    values: [run.organizationId, run.sessionId, run.runId],
  })
  const row = rows[0]
  if (row === undefined) throw new Error('the sum of usage returned no row')
  return {
    requests: row.requests,
    usage: {
      inputTokens: row.input,
      cachedInputTokens: row.cached,
      cacheWriteTokens: row.written,
      outputTokens: row.output,
      reasoningTokens: row.reasoning,
    },
    costUsd: Number(row.cost),
    costComplete: row.complete,
    open: row.open,
  }
}
