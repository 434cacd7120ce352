import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'
import type { ArtifactRow } from './artifact.ts'

export async function findArtifact(db: Queryable, key: SessionKey, id: string): Promise<ArtifactRow | null> {
  return await queryRow<ArtifactRow>(db, {
    name: 'find-artifact',
    text: 'select * from artifacts where organization_id = $1 and session_id = $2 and id = $3',
    values: [key.organizationId, key.sessionId, id],
  })
}

/** Lists Artifacts after one of them, in the order of the log, on `artifacts_in_order`. */
export async function listArtifacts(
  db: Queryable,
  key: SessionKey,
  after: string | null,
  limit: number,
): Promise<ArtifactRow[]> {
  return await queryRows<ArtifactRow>(db, {
    name: 'list-artifacts',
    text: `
      select * from artifacts
      where organization_id = $1 and session_id = $2
        and ($3::uuid is null or position > (
          select position from artifacts where organization_id = $1 and session_id = $2 and id = $3))
      order by position limit $4`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
}

/** Inserts an Artifact after the others of the Session, whose lock the caller holds. */
export async function insertArtifact(tx: Queryable, organizationId: string, row: ArtifactRow): Promise<void> {
  await tx.query({
    name: 'insert-artifact',
    text: `
      insert into artifacts (organization_id, session_id, id, run_id, kind, name, media_type, size_bytes, sha256, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      organizationId,
      row.session_id,
      row.id,
      row.run_id,
      row.kind,
      row.name,
      row.media_type,
      row.size_bytes,
      row.sha256,
      row.created_at,
    ],
  })
}

/** Returns the count and size of the files that a Run has presented, on `artifacts_in_order`. */
export async function presentedSoFar(
  db: Queryable,
  key: SessionKey,
  runId: string,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const { rows } = await db.query<{ count: number; bytes: number }>({
    name: 'presented-so-far',
    text: `
      select count(*)::int as count, coalesce(sum(size_bytes), 0)::float8 as bytes from artifacts
      where organization_id = $1 and session_id = $2 and run_id = $3 and kind = 'presented_file'`,
    values: [key.organizationId, key.sessionId, runId],
  })
  return rows[0] ?? { count: 0, bytes: 0 }
}
