import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { changeCheckpoints } from './change-checkpoints.ts'

/**
 * Returns the newest Run whose end is sealed and intact, or this one if it is.
 * @param runId null: any
 */
export async function findForkable(db: Queryable, key: SessionKey, runId: string | null): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-forkable',
    text: `
      select r.id from checkpoints c
      join runs r on r.organization_id = c.organization_id and r.session_id = c.session_id and r.id = c.run_id
      join turns t on t.organization_id = r.organization_id and t.session_id = r.session_id and t.id = r.turn_id
      where c.organization_id = $1 and c.session_id = $2 and ($3::uuid is null or c.run_id = $3)
        and c.damaged_at is null and c.sealed_at >= r.ended_at
      order by t.sequence desc limit 1`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows[0]?.id ?? null
}

/**
 * Copies a checkpoint to a Run of another Session of the organization, with the names of its blobs. Those are stored once,
 * and stay as long as one of the two names them. Commits that it holds come along, but for whose branch they continue is the
 * other Session's.
 */
export async function copyCheckpoint(
  tx: Queryable,
  key: SessionKey,
  runId: string,
  to: { readonly sessionId: string; readonly runId: string },
): Promise<void> {
  await changeCheckpoints(tx, { ...key, sessionId: to.sessionId }, [
    {
      text: `
        insert into checkpoints (organization_id, session_id, run_id, runtime, conversation, agent_session_id,
          workspace_manifest, home_manifest, stored_bytes, blobs, sealed_at, brought)
        select organization_id, $4, $5, runtime, conversation, agent_session_id, workspace_manifest, home_manifest,
          stored_bytes, blobs, sealed_at, brought || '{"head": null}'::jsonb
        from checkpoints where organization_id = $1 and session_id = $2 and run_id = $3`,
      values: [key.organizationId, key.sessionId, runId, to.sessionId, to.runId],
    },
  ])
}
