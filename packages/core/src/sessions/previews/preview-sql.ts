import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/**
 * Writes the preview of a Run, if somebody watches its Session.
 * @returns false if nobody does; nothing is written then
 */
export async function writePreview(
  db: Queryable,
  key: SessionKey,
  runId: string,
  preview: string,
  now: Date,
): Promise<boolean> {
  return await queryChanged(db, {
    name: 'write-preview',
    text: `
      update session_previews set run_id = $3, preview = $4
      where organization_id = $1 and session_id = $2 and watched_until > $5`,
    values: [key.organizationId, key.sessionId, runId, preview, now],
  })
}

/** Deletes the preview of a Run, if there is one. @returns whether there was one */
export async function deletePreview(db: Queryable, key: SessionKey, runId: string): Promise<boolean> {
  return await queryChanged(db, {
    name: 'delete-preview',
    text: `
      update session_previews set run_id = null, preview = null
      where organization_id = $1 and session_id = $2 and run_id = $3`,
    values: [key.organizationId, key.sessionId, runId],
  })
}

/** Reads the preview of a Session's active Run; null without one. */
export async function readPreview(db: Queryable, key: SessionKey): Promise<string | null> {
  const { rows } = await db.query<{ preview: string }>({
    name: 'read-preview',
    text: `
      select p.preview from session_previews p
      join runs r on r.organization_id = p.organization_id and r.session_id = p.session_id and r.id = p.run_id
      where p.organization_id = $1 and p.session_id = $2 and r.ended_at is null`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.preview ?? null
}

/**
 * Notes that somebody watches a Session until a time.
 * @returns true if nobody did before, so that its worker has to be told
 */
export async function watchPreviews(db: Queryable, key: SessionKey, now: Date, until: Date): Promise<boolean> {
  const { rows } = await db.query<{ began: boolean }>({
    name: 'watch-previews',
    text: `
      with before as (
        select watched_until from session_previews where organization_id = $1 and session_id = $2)
      insert into session_previews as w (organization_id, session_id, watched_until) values ($1, $2, $4)
      on conflict (organization_id, session_id) do update
        set watched_until = greatest(w.watched_until, excluded.watched_until)
      returning coalesce((select watched_until <= $3::timestamptz from before), true) as began`,
    values: [key.organizationId, key.sessionId, now, until],
  })
  return rows[0]?.began === true
}

/** Deletes previews that nobody watches any more. */
export const forgetPreviews = (db: Queryable, before: Date, signal: AbortSignal): Promise<number> =>
  deleteInBatches(db, { table: 'session_previews', where: 'r.watched_until < $1', values: [before] }, signal)
