import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/**
 * Notes that a person has read a Session up to an Event; what was read before stays read.
 * @returns false if nothing changed
 */
export async function markRead(db: Queryable, key: SessionKey, personId: string, sequence: number): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'mark-session-read',
    text: `
      insert into session_marks as m (organization_id, session_id, person_id, read_sequence)
      select organization_id, id, $3, least($4::bigint, last_event_sequence) from sessions
      where organization_id = $1 and id = $2
      on conflict (organization_id, session_id, person_id) do update
        set read_sequence = excluded.read_sequence where m.read_sequence < excluded.read_sequence`,
    values: [key.organizationId, key.sessionId, personId, sequence],
  })
  return rowCount === 1
}

/** Pins a Session for a person at a time; null unpins it. */
export async function markPinned(db: Queryable, key: SessionKey, personId: string, at: Date | null): Promise<void> {
  await db.query({
    name: 'mark-session-pinned',
    text: `
      insert into session_marks as m (organization_id, session_id, person_id, pinned_at) values ($1, $2, $3, $4)
      on conflict (organization_id, session_id, person_id) do update
        set pinned_at = case when excluded.pinned_at is null then null else coalesce(m.pinned_at, excluded.pinned_at) end`,
    values: [key.organizationId, key.sessionId, personId, at],
  })
}
