import type { PublicationError } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import type { EventDraft } from '../log/envelope.ts'
import type { PublicationRow } from './publication.ts'
import { failUnattempted } from './publication-sql.ts'

/**
 * Ends the Session's Publications that the host knows nothing of yet, because the Session is archived. An attempted one
 * continues, since its worker must find out and report how far the host got. The caller holds the Session's lock.
 */
export async function abandonPublications(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  const code: PublicationError = 'session_archived'
  const failed = await failUnattempted(tx, key, code, now)
  if (failed.length > 0) await appendEvents(tx, key, failed.map(publicationEvent), now)
}

/** Ends a Publication of a follow-up that was stopped, if the host knows nothing of it yet. The caller holds the Session's lock. */
export async function withdrawPublication(tx: Queryable, key: SessionKey, id: string, now: Date): Promise<void> {
  const failed = await failUnattempted(tx, key, 'withdrawn', now, id)
  if (failed.length > 0) await appendEvents(tx, key, failed.map(publicationEvent), now)
}

/** Returns the Event that tells how a Publication ended; it carries no Run. */
export function publicationEvent(row: PublicationRow): EventDraft {
  return {
    type: row.status === 'succeeded' ? 'svc.publication.created' : 'svc.publication.failed',
    data: {
      publicationId: row.id,
      delivery: row.delivery,
      status: row.status,
      ...(row.result !== null && { result: row.result }),
      ...(row.error_code !== null && { errorCode: row.error_code, ...row.obstacle }),
    },
  }
}
