import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

/** An Event as it is stored: its place and its text, which nobody serialises again. */
export interface StoredEvent {
  readonly sequence: number
  readonly envelope: string
}

/** Events after a sequence, in order, on the primary key: the cost does not grow with the log. */
export async function listEventsAfter(
  db: Queryable,
  key: SessionKey,
  after: number,
  limit: number,
): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>({
    name: 'list-events',
    text: `
      select sequence, envelope from events
      where organization_id = $1 and session_id = $2 and sequence > $3
      order by sequence limit $4`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
  return rows
}

/**
 * As `listEventsAfter`, and no further than the Event that fills `bytes`: one may take a megabyte, and hundreds of streams
 * read at once. The length of a stored text is known without fetching it, so what is left out costs next to nothing.
 */
export async function listEventsWithin(
  db: Queryable,
  key: SessionKey,
  after: number,
  most: { readonly events: number; readonly bytes: number },
): Promise<StoredEvent[]> {
  const { rows } = await db.query<StoredEvent>({
    name: 'list-events-within',
    text: `
      select sequence, envelope from (
        select sequence, envelope, sum(octet_length(envelope)) over (
          order by sequence rows between unbounded preceding and 1 preceding
        ) as bytes_before
        from events
        where organization_id = $1 and session_id = $2 and sequence > $3
        order by sequence limit $4
      ) as page
      where bytes_before is null or bytes_before < $5
      order by sequence`,
    values: [key.organizationId, key.sessionId, after, most.events, most.bytes],
  })
  return rows
}

/** Whose log it is and how far it goes. */
export interface LogHead {
  readonly organization_id: string
  readonly owner_id: string
  readonly last_event_sequence: number
}

export async function readLogHead(db: Queryable, key: SessionKey): Promise<LogHead | null> {
  const { rows } = await db.query<LogHead>({
    name: 'read-log-head',
    text: 'select organization_id, owner_id, last_event_sequence from sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0] ?? null
}

/** A page of a log with its head, in one round trip. */
export interface LogPage extends LogHead {
  readonly events: number
  /** Envelopes joined by commas; null where there are none. */
  readonly envelopes: string | null
}

/** The page is joined where it lies: a hundred rows cost the reader more to take apart than to send on. */
export async function readLogPage(
  db: Queryable,
  key: SessionKey,
  after: number,
  limit: number,
): Promise<LogPage | null> {
  const { rows } = await db.query<LogPage>({
    name: 'read-log-page',
    text: `
      select organization_id, owner_id, last_event_sequence, page.*
      from sessions, (
        select count(*) as events, string_agg(envelope, ',' order by sequence) as envelopes from (
          select sequence, envelope from events
          where organization_id = $1 and session_id = $2 and sequence > $3
          order by sequence limit $4
        ) as rows
      ) as page
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
  return rows[0] ?? null
}

/** The newest sequence of a Session; 0 before the first Event. */
export async function findNewestSequence(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ last_event_sequence: number }>({
    name: 'find-newest-sequence',
    text: 'select last_event_sequence from sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.last_event_sequence ?? 0
}
