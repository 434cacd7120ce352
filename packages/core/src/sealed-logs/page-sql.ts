import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { BlobRef } from '@berth/platform/storage/blobs/blobs.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** A stretch of a log in the blob store. */
export interface EventPage {
  readonly first_sequence: number
  readonly last_sequence: number
  readonly sha256: string
  readonly text_sha256: string
}

/** Returns the page that holds an Event; null if the Event is still a row, or there is none. */
export async function findEventPage(db: Queryable, key: SessionKey, sequence: number): Promise<EventPage | null> {
  return await queryRow<EventPage>(db, {
    name: 'find-event-page',
    text: `
      select first_sequence, last_sequence, sha256, text_sha256 from event_pages
      where organization_id = $1 and session_id = $2 and last_sequence >= $3
      order by last_sequence limit 1`,
    values: [key.organizationId, key.sessionId, sequence],
  })
}

/** Returns the last sealed sequence of a log; 0 if nothing of it is sealed. */
export async function findSealedEnd(db: Queryable, key: SessionKey): Promise<number> {
  const { rows } = await db.query<{ sealed: number }>({
    name: 'find-sealed-end',
    text: `
      select coalesce(max(last_sequence), 0) as sealed from event_pages where organization_id = $1 and session_id = $2`,
    values: [key.organizationId, key.sessionId],
  })
  return rows[0]?.sealed ?? 0
}

/**
 * Puts a blob in the place of the Events after the last page, in one transaction.
 * @throws Error if the Session may not be sealed, or the blob does not hold exactly these Events
 */
export async function sealEvents(
  db: Queryable,
  key: SessionKey,
  page: { readonly through: number; readonly blob: BlobRef; readonly textSha256: string },
): Promise<void> {
  const { through, blob, textSha256 } = page
  await db.query({
    text: 'select seal_events($1, $2, $3, $4, $5, $6)',
    values: [key.organizationId, key.sessionId, through, blob.sha256, blob.sizeBytes, textSha256],
  })
}
