import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRows } from '@berth/platform/storage/postgres/database.ts'
import { listWithin, type StoredEvent } from '../streams/event-sql.ts'
import { isAtRest } from './purge-sql.ts'

/** A Session whose log may be sealed, with its place in the order of the search. */
export interface Sealable extends SessionKey {
  readonly archivedAt: Date
}

/**
 * Returns Sessions at rest that were archived before a time and whose logs still lie in the database, on
 * `sessions_to_seal`, the oldest first.
 * @param after the last one that was found before; one that cannot be sealed stops nobody behind it
 */
export async function findSealable(
  db: Queryable,
  before: Date,
  after: Sealable | null,
  most: number,
): Promise<readonly Sealable[]> {
  return await queryRows<Sealable>(db, {
    text: `
      select s.organization_id as "organizationId", s.id as "sessionId", s.archived_at as "archivedAt" from sessions s
      where s.archived_at < $1 and not s.log_sealed and not s.is_trial and ${isAtRest}
        and ($3::uuid is null or (s.archived_at, s.id) > ($2, $3))
      order by s.archived_at, s.id limit $4`,
    values: [before, after?.archivedAt ?? null, after?.sessionId ?? null, most],
  })
}

/** Returns the first Events of a log that are rows, without the newest one, up to the Event that fills `bytes`. */
export const listUnsealed = (
  db: Queryable,
  key: SessionKey,
  most: { readonly events: number; readonly bytes: number },
): Promise<readonly StoredEvent[]> => {
  const newest = 'select last_event_sequence from sessions where organization_id = $1 and id = $2'
  return listWithin(db, 'list-unsealed', key, `sequence < (${newest})`, most)
}

/** Notes that a log needs no further look. Nothing moves for those who follow the Session, so `moved_in` stays. */
export async function noteSealed(db: Queryable, key: SessionKey): Promise<void> {
  await db.query({
    text: 'update sessions set log_sealed = true where organization_id = $1 and id = $2 and archived_at is not null',
    values: [key.organizationId, key.sessionId],
  })
}
