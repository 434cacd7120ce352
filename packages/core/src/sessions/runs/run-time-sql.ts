import type { Run } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** What the time of a Run went into. */
export type RunTime = NonNullable<Run['time']>

const lengthOf = (ranges: string) =>
  `(select coalesce(round(1000 * sum(extract(epoch from upper(part) - lower(part)))), 0)::bigint from unnest(${ranges}) part)`

/**
 * Divides the time of a Run until now. Each moment counts once: for a model that answers, else for people who are asked, else
 * for a tool that works, else for the platform. So a sub-agent's requests are no time of the tool that waits for it. Uses the
 * index of requests on Runs, and the log's primary key from the start of the last attempt on: an attempt with a tool call is
 * not followed by another.
 */
export async function readRunTime(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
  runId: string,
  now: Date,
): Promise<RunTime | null> {
  const { rows } = await db.query<RunTime>({
    name: 'read-run-time',
    text: `
      with run as (
        select tstzmultirange(tstzrange(queued_at, greatest(queued_at, $4))) as whole, open_calls, started_at from runs
        where organization_id = $1 and session_id = $2 and id = $3
      ), models as (
        select range_agg(tstzrange(started_at, started_at + duration_ms * interval '1 millisecond')) as busy
        from gateway_requests
        where organization_id = $1 and session_id = $2 and run_id = $3 and duration_ms > 0
      ), people as (
        select range_agg(tstzrange(opened_at, coalesce(ended_at, $4))) as busy from interactions
        where organization_id = $1 and session_id = $2 and run_id = $3 and opened_at < coalesce(ended_at, $4)
      ), ended as (
        select (envelope::jsonb ->> 'createdAt')::timestamptz as at, (envelope::jsonb #>> '{data,durationMs}')::float8 as ms
        from events
        where organization_id = $1 and session_id = $2 and run_id = $3 and type = 'svc.activity.completed'
          and sequence > (
            select sequence from events
            where (select started_at is not null from run) and organization_id = $1 and session_id = $2 and run_id = $3
              and type = 'svc.run.started'
            order by sequence desc limit 1)
      ), tools as (
        select range_agg(busy) as busy from (
          select tstzrange(at - ms * interval '1 millisecond', at) as busy from ended where ms > 0
          union all
          select tstzrange(least($4, (call ->> 'startedAt')::timestamptz), $4) from run, jsonb_array_elements(open_calls) call
        ) calls
      ), parts as (
        select whole, coalesce(models.busy, '{}') * whole as models, coalesce(people.busy, '{}') * whole as people,
          coalesce(tools.busy, '{}') * whole as tools
        from run, models, people, tools
      )
      select ${lengthOf('models')} as "modelMs", ${lengthOf('people - models')} as "peopleMs",
        ${lengthOf('tools - people - models')} as "toolsMs", ${lengthOf('whole - tools - people - models')} as "platformMs"
      from parts`,
    values: [organizationId, sessionId, runId, now],
  })
  return rows[0] ?? null
}
