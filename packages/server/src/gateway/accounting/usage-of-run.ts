import type { Queryable } from '../../storage/postgres/database.ts'
import type { GatewayUsage } from '../providers/upstream.ts'

/** What a Run used of the gateway so far. */
export interface RunUsage {
  /** Calls of models. */
  readonly requests: number
  readonly usage: GatewayUsage
  readonly costUsd: number
  /** False where something it did has no known cost, or was not accounted to its end. */
  readonly costComplete: boolean
  /** Requests that are under way, or whose gateway was killed. */
  readonly open: number
}

/** Adds up a Run's requests; leans on the index of Runs. A Run that asked no model cost nothing. */
export async function usageOfRun(
  db: Queryable,
  run: { readonly organizationId: string; readonly sessionId: string; readonly runId: string },
): Promise<RunUsage> {
  const { rows } = await db.query<{
    requests: number
    input: number
    cached: number
    output: number
    reasoning: number
    cost: string
    complete: boolean
    open: number
  }>({
    name: 'usage-of-run',
    text: `
      select count(*) as requests, coalesce(sum(input_tokens), 0)::bigint as input, coalesce(sum(cached_input_tokens), 0)::bigint as cached,
        coalesce(sum(output_tokens), 0)::bigint as output, coalesce(sum(reasoning_tokens), 0)::bigint as reasoning,
        coalesce(sum(cost_usd), 0) as cost, coalesce(bool_and(cost_usd is not null), true) as complete,
        count(*) filter (where outcome = 'open') as open
      from gateway_requests where organization_id = $1 and session_id = $2 and run_id = $3`,
    values: [run.organizationId, run.sessionId, run.runId],
  })
  const row = rows[0]
  if (row === undefined) throw new Error('a sum without a row')
  return {
    requests: row.requests,
    usage: {
      inputTokens: row.input,
      cachedInputTokens: row.cached,
      outputTokens: row.output,
      reasoningTokens: row.reasoning,
    },
    costUsd: Number(row.cost),
    costComplete: row.complete,
    open: row.open,
  }
}
