import type { Queryable } from '../../storage/postgres/database.ts'

/**
 * Returns the error code of a Run's last model request if it failed and no answer has ended since it began; else null.
 * A request that the agent itself gave up counts for nothing. Uses the index on Runs.
 */
export async function lastRefusalOf(
  db: Queryable,
  run: { readonly organizationId: string; readonly sessionId: string; readonly runId: string },
): Promise<string | null> {
  const { rows } = await db.query<{ error_code: string | null }>({
    name: 'last-refusal-of-run',
    text: `
      select last.error_code
      from (
        select outcome, error_code, started_at from gateway_requests
        where organization_id = $1 and session_id = $2 and run_id = $3 and outcome <> 'left'
        order by started_at desc, id desc limit 1
      ) last
      where last.outcome = 'failed' and not exists (
        select from gateway_requests
        where organization_id = $1 and session_id = $2 and run_id = $3 and outcome = 'completed'
          and started_at + duration_ms * interval '1 millisecond' > last.started_at
      )`,
    values: [run.organizationId, run.sessionId, run.runId],
  })
  const [row] = rows
  return row === undefined ? null : (row.error_code ?? 'upstream_failed')
}
