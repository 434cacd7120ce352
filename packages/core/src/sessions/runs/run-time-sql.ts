import type { Run } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** What the time of a Run went into. */
export type RunTime = NonNullable<Run['time']>

const lengthOf = (ranges: string) =>
  `(select coalesce(round(1000 * sum(extract(epoch from upper(part) - lower(part)))), 0)::bigint from unnest(${ranges}) part)`

/**
 * Divides the time of a Run until now. Each moment counts once: for a model that answers, else for people who are asked, else
 * for a tool that works, else for the platform. So a sub-agent's requests are no time of the tool that waits for it. Of the
 * platform's time the queue, the sandbox and the start of the agent are told apart: the fence says when a worker had the Run.
 * A worker that took over later leaves the queue unknown, and what was before the start of the agent counts as that. Uses the
 * index of requests on Runs, and the log's primary key from the start of the last attempt on: an attempt with a tool call is
 * not followed by another.
 */
export async function readRunTime(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
  runId: string,
  now: Date,
): Promise<RunTime | null> {
  return await queryRow<RunTime>(db, {
    name: 'read-run-time',
    text: `
      with run as (
        select tstzmultirange(tstzrange(queued_at, greatest(queued_at, $4))) as whole, open_calls, started_at, queued_at,
          greatest(queued_at, least($4, started_at)) as prompted_at
        from runs where organization_id = $1 and session_id = $2 and id = $3
      ), sandboxes as (
        select range_agg(tstzrange(l.created_at, greatest(l.created_at, coalesce(l.attached_at, l.ended_at, $4)))) as made,
          min(l.created_at) as made_at
        from leases l, run where l.organization_id = $1 and l.session_id = $2 and l.created_at between run.queued_at and $4
      ), begun as (
        select greatest(run.queued_at, least(run.prompted_at, (select made_at from sandboxes), (
          select acquired_at from executions where organization_id = $1 and session_id = $2 and run_id = $3))) as claimed_at
        from run
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
      ), platform as (
        select parts.whole - tools - people - models as busy, tstzmultirange(tstzrange(run.queued_at, begun.claimed_at)) as queue,
          coalesce(sandboxes.made, '{}') as made, tstzmultirange(tstzrange(run.queued_at, run.prompted_at)) as start
        from parts, run, begun, sandboxes
      )
      select ${lengthOf('models')} as "modelMs", ${lengthOf('people - models')} as "peopleMs",
        ${lengthOf('tools - people - models')} as "toolsMs", ${lengthOf('platform.busy')} as "platformMs",
        ${lengthOf('platform.busy * made')} as "sandboxMs", ${lengthOf('platform.busy * queue - made')} as "queueMs",
        ${lengthOf('platform.busy * start - queue - made')} as "agentStartMs"
      from parts, platform`,
    values: [organizationId, sessionId, runId, now],
  })
}
