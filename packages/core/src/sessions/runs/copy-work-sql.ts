import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { movedIn } from '@berth/platform/storage/postgres/moved-in.ts'

/**
 * Copies the Turns of a Session up to a Run that has ended, with their Runs, into a Session that has none. Runs get new ids,
 * and neither cost nor usage, which are told once; results keep their words, since Artifacts stay where they are. Turns keep
 * their ids. Work from before a reset is not copied.
 * @returns the new id of that Run
 */
export async function copyWork(tx: Queryable, key: SessionKey, runId: string, toSessionId: string): Promise<string> {
  const { rows } = await tx.query<{ run_id: string | null }>({
    text: `
      with kept as materialized (
        select t.*, row_number() over (order by t.sequence) - 1 as place
        from sessions s
        join turns t on t.organization_id = s.organization_id and t.session_id = s.id
        join runs r on r.organization_id = t.organization_id and r.session_id = t.session_id and r.id = t.run_id
        join turns begun on begun.organization_id = r.organization_id and begun.session_id = r.session_id
          and begun.id = r.turn_id
        where s.organization_id = $1 and s.id = $2 and begun.sequence >= s.fresh_from_turn and begun.sequence <= (
          select l.sequence from runs f
          join turns l on l.organization_id = f.organization_id and l.session_id = f.session_id and l.id = f.turn_id
          where f.organization_id = $1 and f.session_id = $2 and f.id = $3)
      ), named as materialized (
        select run_id, gen_random_uuid() as id from kept group by run_id
      ), run_rows as (
        insert into runs (organization_id, session_id, id, turn_id, status, runtime, model, effort, attempts, tool_calls,
          stop_reason, error_code, turns, result, output, queued_at, due_at, started_at, ended_at)
        select r.organization_id, $4, n.id, r.turn_id, r.status, r.runtime, r.model, r.effort, r.attempts, r.tool_calls,
          r.stop_reason, r.error_code, r.turns,
          case when r.result ? 'summary' then jsonb_build_object('summary', r.result -> 'summary', 'artifactIds', '[]'::jsonb) end,
          r.output, r.queued_at, r.due_at, r.started_at, r.ended_at
        from named n join runs r on r.organization_id = $1 and r.session_id = $2 and r.id = n.run_id
        returning started_at
      ), turn_rows as (
        insert into turns (organization_id, session_id, id, sequence, run_id, request_hash, message, reply_to, files, model, effort,
          runtime, author_kind, author_id, created_at, output_schema, steering)
        select k.organization_id, $4, k.id, k.place, n.id, k.request_hash, k.message, k.reply_to, k.files, k.model, k.effort,
          k.runtime, k.author_kind, k.author_id, k.created_at, k.output_schema, k.steering
        from kept k join named n on n.run_id = k.run_id
      )
      update sessions set turn_count = (select count(*) from kept),
        first_run_started_at = (select min(started_at) from run_rows), ${movedIn}
      where organization_id = $1 and id = $4
      returning (select id from named where run_id = $3) as run_id`,
    values: [key.organizationId, key.sessionId, runId, toSessionId],
  })
  const copied = rows[0]?.run_id ?? null
  if (copied === null) throw new Error(`there is no run ${runId} to copy`)
  return copied
}
