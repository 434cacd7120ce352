import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** A file that a person has viewed as it was. */
export interface ViewedFileRow {
  readonly path: string
  readonly digest: string
}

/** Counts a change of a person's marks of a Session; nothing if the Session is gone. */
const counted = `
  insert into session_marks as m (organization_id, session_id, person_id, viewed_marks)
  select organization_id, id, $3, 1 from sessions where organization_id = $1 and id = $2
  on conflict (organization_id, session_id, person_id) do update set viewed_marks = m.viewed_marks + 1
  returning viewed_marks`

/**
 * Marks a file as viewed, in the place of an earlier mark of it.
 * @param mark.most so many marks are kept, the newest
 * @returns how often the marks have changed; null if the Session is gone
 */
export async function markViewed(
  db: Queryable,
  key: SessionKey,
  personId: string,
  mark: ViewedFileRow & { readonly pathDigest: Uint8Array; readonly at: Date; readonly most: number },
): Promise<number | null> {
  const { rows } = await db.query<{ viewed_marks: number }>({
    name: 'mark-file-viewed',
    text: `
      with counted as (${counted}), dropped as (
        delete from viewed_files
        where organization_id = $1 and session_id = $2 and person_id = $3 and path_digest in (
          select path_digest from viewed_files
          where organization_id = $1 and session_id = $2 and person_id = $3 and path_digest <> $4
          order by marked_at desc, path_digest offset $8::integer - 1)
      ), marked as (
        insert into viewed_files (organization_id, session_id, person_id, path_digest, path, digest, marked_at)
        select $1, $2, $3, $4, $5, $6, $7 from counted
        on conflict (organization_id, session_id, person_id, path_digest) do update
          set digest = excluded.digest, marked_at = excluded.marked_at
      )
      select viewed_marks from counted`,
    values: [key.organizationId, key.sessionId, personId, mark.pathDigest, mark.path, mark.digest, mark.at, mark.most],
  })
  return rows[0]?.viewed_marks ?? null
}

/**
 * Takes the mark of a file back.
 * @returns how often the marks have changed; null if the Session is gone
 */
export async function unmarkViewed(
  db: Queryable,
  key: SessionKey,
  personId: string,
  pathDigest: Uint8Array,
): Promise<number | null> {
  const { rows } = await db.query<{ viewed_marks: number }>({
    name: 'unmark-file-viewed',
    text: `
      with counted as (${counted}), dropped as (
        delete from viewed_files
        where organization_id = $1 and session_id = $2 and person_id = $3 and path_digest = $4
      )
      select viewed_marks from counted`,
    values: [key.organizationId, key.sessionId, personId, pathDigest],
  })
  return rows[0]?.viewed_marks ?? null
}

/** Returns a person's marks of a Session, and how often they have changed. */
export async function readViewed(
  db: Queryable,
  key: SessionKey,
  personId: string,
): Promise<{ readonly marks: number; readonly files: readonly ViewedFileRow[] }> {
  const { rows } = await db.query<{ marks: number; files: readonly ViewedFileRow[] }>({
    name: 'read-viewed-files',
    text: `
      select
        coalesce((
          select viewed_marks from session_marks
          where organization_id = $1 and session_id = $2 and person_id = $3), 0) as marks,
        coalesce((
          select json_agg(json_build_object('path', path, 'digest', digest) order by marked_at, path) from viewed_files
          where organization_id = $1 and session_id = $2 and person_id = $3), '[]') as files`,
    values: [key.organizationId, key.sessionId, personId],
  })
  return rows[0] ?? { marks: 0, files: [] }
}
