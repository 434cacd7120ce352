import type { PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'

const ROWS = 3

/** Statements by name; each has the Session's id as its only parameter. */
const questions = {
  sessions: `select to_jsonb(s) - 'title' as row from sessions s where id = $1`,
  turns: `select to_jsonb(t) - 'message' as row from turns t where session_id = $1 order by ctid desc limit ${ROWS}`,
  runs: `select to_jsonb(r) as row from runs r where session_id = $1 order by queued_at desc limit ${ROWS}`,
  executions: `select to_jsonb(e) as row from executions e where session_id = $1`,
  leases: `select to_jsonb(l) as row from leases l where session_id = $1 order by created_at desc limit ${ROWS}`,
  checkpoints: `
    select to_jsonb(c) - 'blobs' as row from checkpoints c where session_id = $1 order by ctid desc limit 1`,
  requests: `select to_jsonb(w) as row from workspace_requests w where session_id = $1`,
  interactions: `
    select to_jsonb(i) as row from interactions i where session_id = $1 and status = 'open'`,
  events: `
    select jsonb_build_object('sequence', sequence, 'event', left(to_jsonb(e)::text, 400)) as row
    from events e where session_id = $1 order by sequence desc limit 6`,
  processes: `select to_jsonb(p) as row from processes p where $1::uuid is not null`,
  hosts: `
    select to_jsonb(h) - 'token_sha256' - 'labels' as row from hosts h where $1::uuid is not null`,
  now: `select to_jsonb(clock_timestamp()) as row where $1::uuid is not null`,
}

/** Describes how a Session stands in the database, for whoever has to find out why its Run does not end. */
export async function stateOf(db: PooledDatabase, sessionId: string): Promise<string> {
  const parts: string[] = []
  for (const [name, text] of Object.entries(questions)) {
    const answer = await db
      .query<{ row: unknown }>(text, [sessionId])
      .then(({ rows }) => JSON.stringify(rows.map(({ row }) => row)), String)
    parts.push(`${name} ${answer}`)
  }
  return parts.join('\n')
}
