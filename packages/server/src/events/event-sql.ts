import type { Queryable } from '../storage/database.ts'
import type { SessionKey } from './append.ts'

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

/** The newest sequence of a Session; 0 before the first Event. */
export async function findNewestSequence(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ last_event_sequence: number }>({
    name: 'find-newest-sequence',
    text: 'select last_event_sequence from sessions where organization_id = $1 and id = $2',
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.last_event_sequence ?? 0
}
