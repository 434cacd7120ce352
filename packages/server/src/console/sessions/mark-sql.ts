import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryChanged } from '@berth/platform/storage/postgres/database.ts'

/**
 * Notes that a person has read a Session up to an Event; earlier Events stay read.
 * @returns false if nothing changed
 */
export async function markRead(db: Queryable, key: SessionKey, personId: string, sequence: number): Promise<boolean> {
  return await queryChanged(db, {
    name: 'mark-session-read',
    text: `
      insert into session_marks as m (organization_id, session_id, person_id, read_sequence)
      select organization_id, id, $3, least($4::bigint, last_event_sequence) from sessions
      where organization_id = $1 and id = $2
      on conflict (organization_id, session_id, person_id) do update
        set read_sequence = excluded.read_sequence where m.read_sequence < excluded.read_sequence`,
    values: [key.organizationId, key.sessionId, personId, sequence],
  })
}

/** The marks that a person may set on a Session; null removes one, and an absent one stays. */
export interface Marks {
  readonly pinnedAt?: Date | null
  readonly snoozed?: { readonly at: Date; readonly until: Date | null } | null
}

/** Sets a person's marks of a Session. One that is pinned stays pinned since then. */
export async function markSession(db: Queryable, key: SessionKey, personId: string, marks: Marks): Promise<void> {
  const { pinnedAt, snoozed } = marks
  await db.query({
    name: 'mark-session',
    text: `
      insert into session_marks as m (organization_id, session_id, person_id, pinned_at, snoozed_at, snoozed_until)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (organization_id, session_id, person_id) do update set
        pinned_at = case when not $7 then m.pinned_at
          when excluded.pinned_at is null then null else coalesce(m.pinned_at, excluded.pinned_at) end,
        snoozed_at = case when $8 then excluded.snoozed_at else m.snoozed_at end,
        snoozed_until = case when $8 then excluded.snoozed_until else m.snoozed_until end`,
    values: [
      ...[key.organizationId, key.sessionId, personId, pinnedAt ?? null, snoozed?.at ?? null, snoozed?.until ?? null],
      ...[pinnedAt !== undefined, snoozed !== undefined],
    ],
  })
}

const since = (alias: string, column: string) =>
  `${alias} where ${alias}.organization_id = m.organization_id and ${alias}.session_id = m.session_id
    and ${alias}.${column} > m.snoozed_at`

/**
 * SQL that is true of marks `m` that hide their Session now: they are not due, and since then it has neither asked
 * anything nor ended a Run.
 */
export const isSnoozed = `(m.snoozed_at is not null and coalesce(m.snoozed_until > now(), true)
  and not exists (select from interactions ${since('i', 'opened_at')})
  and not exists (select from runs ${since('r', 'ended_at')}))`
