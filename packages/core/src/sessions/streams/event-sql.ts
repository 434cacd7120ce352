import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow, queryRows } from '@berth/platform/storage/postgres/database.ts'

/** An Event as the database stores it: its sequence and its text, which nothing serialises again. */
export interface StoredEvent {
  readonly sequence: number
  readonly envelope: string
}

/**
 * Lists Events after a sequence, in order, on the primary key: the cost does not grow with the log. Of a log that is sealed it
 * lists only those that are still rows; `read-log.ts` reads both.
 */
export async function listEventsAfter(
  db: Queryable,
  key: SessionKey,
  after: number,
  limit: number,
): Promise<StoredEvent[]> {
  return await queryRows<StoredEvent>(db, {
    name: 'list-events',
    text: `
      select sequence, envelope from events
      where organization_id = $1 and session_id = $2 and sequence > $3
      order by sequence limit $4`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
}

/**
 * Lists Events as `listEventsAfter` does, but stops at the Event that fills `bytes`: one may take a megabyte, and
 * hundreds of streams read at once. PostgreSQL knows the length of a stored text without fetching it, so the omitted
 * Events cost next to nothing.
 */
export const listEventsWithin = (
  db: Queryable,
  key: SessionKey,
  after: number,
  most: { readonly events: number; readonly bytes: number },
): Promise<StoredEvent[]> => listWithin(db, 'list-events-within', key, 'sequence > $5', most, [after])

/** The same for Events that satisfy a condition, whose own values begin at `$5`. */
export async function listWithin(
  db: Queryable,
  name: string,
  { organizationId, sessionId }: SessionKey,
  condition: string,
  most: { readonly events: number; readonly bytes: number },
  values: readonly unknown[] = [],
): Promise<StoredEvent[]> {
  return await queryRows<StoredEvent>(db, {
    name,
    text: `
      select sequence, envelope from (
        select sequence, envelope, sum(octet_length(envelope)) over (
          order by sequence rows between unbounded preceding and 1 preceding
        ) as bytes_before
        from events
        where organization_id = $1 and session_id = $2 and ${condition}
        order by sequence limit $3
      ) as page
      where bytes_before is null or bytes_before < $4
      order by sequence`,
    values: [organizationId, sessionId, most.events, most.bytes, ...values],
  })
}

/** The owner of a log and its newest sequence. */
export interface LogHead {
  readonly organization_id: string
  readonly owner_id: string
  readonly is_trial: boolean
  readonly last_event_sequence: number
}

export async function readLogHead(db: Queryable, key: SessionKey): Promise<LogHead | null> {
  return await queryRow<LogHead>(db, {
    name: 'read-log-head',
    text: `
      select organization_id, owner_id, is_trial, last_event_sequence from sessions
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId],
  })
}

/** A page of a log with its head, in one round trip. */
export interface LogPage extends LogHead {
  readonly events: number
  /** Sequence of its first Event; null if there are none. */
  readonly first: number | null
  /** Envelopes joined by commas; null if there are none. */
  readonly envelopes: string | null
}

/**
 * Reads a page of a log, joined by PostgreSQL: taking a hundred rows apart costs this process more than sending them
 * on.
 */
export async function readLogPage(
  db: Queryable,
  key: SessionKey,
  after: number,
  limit: number,
): Promise<LogPage | null> {
  return await queryRow<LogPage>(db, {
    name: 'read-log-page',
    text: `
      select organization_id, owner_id, is_trial, last_event_sequence, page.*
      from sessions, (
        select count(*) as events, min(sequence) as first, string_agg(envelope, ',' order by sequence) as envelopes from (
          select sequence, envelope from events
          where organization_id = $1 and session_id = $2 and sequence > $3
          order by sequence limit $4
        ) as rows
      ) as page
      where organization_id = $1 and id = $2`,
    values: [key.organizationId, key.sessionId, after, limit],
  })
}

/** Returns the newest sequence of a Session; 0 before its first Event. */
export async function findNewestSequence(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ last_event_sequence: number }>({
    name: 'find-newest-sequence',
    text: 'select last_event_sequence from sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.last_event_sequence ?? 0
}
