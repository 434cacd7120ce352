import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { findRunEnd } from '../log/run-end-sql.ts'

/**
 * Returns whether the changes of an ended Run could not be stored, as the log tells behind its end, by its primary key, and
 * no later Run's were.
 */
export async function isUnreviewed(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  const end = await findRunEnd(db, key, runId)
  const { rows } = await db.query<{ omitted: boolean }>({
    text: `
      select type = 'svc.artifact.omitted' as omitted from events
      where organization_id = $1 and session_id = $2 and sequence > $3
        and (type = 'svc.revision.created'
          or type = 'svc.artifact.omitted' and envelope::jsonb #>> '{data,kind}' = 'revision')
      order by sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, end ?? 0],
  })
  return rows[0]?.omitted === true
}
