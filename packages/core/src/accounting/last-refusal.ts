import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Returns the error code of a Run's last model request if it failed and no answer has ended since it began; else null.
 * A request that the agent itself gave up counts for nothing. Nor does one on which the agent's answer cannot depend: it
 * failed without a first token only after the answer was over, or began after that. Without any answer of a model the
 * agent's words are its own. Uses the index on Runs.
 * @param answeredAt when the agent's answer was over, by the clock of the sandbox's host; null if it gave none
 */
export async function lastRefusalOf(
  db: Queryable,
  run: { readonly organizationId: string; readonly sessionId: string; readonly runId: string },
  answeredAt: Date | null,
): Promise<string | null> {
  const { rows } = await db.query<{ error_code: string | null }>({
    name: 'last-refusal-of-run',
    text: `
      with requests as materialized (
        select id, outcome, error_code, started_at, first_token_ms,
          started_at + duration_ms * interval '1 millisecond' as ended_at
        from gateway_requests
        where organization_id = $1 and session_id = $2 and run_id = $3 and outcome <> 'left'
      ), last as (
        select * from requests order by started_at desc, id desc limit 1
      )
      select last.error_code from last
      where last.outcome = 'failed'
        and not exists (select from requests where outcome = 'completed' and ended_at > last.started_at)
        and not exists (
          select from requests where outcome = 'completed'
            and $4 < case when last.first_token_ms is null then last.ended_at else last.started_at end)`,
    values: [run.organizationId, run.sessionId, run.runId, answeredAt],
  })
  const [row] = rows
  return row === undefined ? null : (row.error_code ?? 'upstream_failed')
}
