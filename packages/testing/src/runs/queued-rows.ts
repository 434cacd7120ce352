import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Writes Sessions with a queued Run each, so many for each organization. */
export async function insertQueuedRuns(db: Queryable, organizations: readonly string[], each: number): Promise<void> {
  await db.query(
    `with s as (
       insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
       select o, gen_random_uuid(), 'app_installation', o, '', 't', now(), now()
       from unnest($1::uuid[]) o, generate_series(1, $2) returning organization_id, id)
     insert into runs (organization_id, session_id, id, turn_id, status, queued_at, due_at)
     select organization_id, id, id, id, 'queued', now(), now() from s`,
    [organizations, each],
  )
}
