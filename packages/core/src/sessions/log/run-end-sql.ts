import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Returns the sequence of a Run's terminal Event, by the log's primary key; null if the log does not have it. */
export async function findRunEnd(db: Queryable, key: SessionKey, runId: string): Promise<number | null> {
  const { rows } = await db.query<{ sequence: number }>({
    text: `
      select sequence from events
      where organization_id = $1 and session_id = $2 and run_id = $3
        and type in ('svc.run.completed', 'svc.run.failed', 'svc.run.cancelled', 'svc.run.crashed')
      order by sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows[0]?.sequence ?? null
}
