import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { mergeEvent } from './merge-event.ts'
import { failUnattempted } from './merge-sql.ts'

/**
 * Ends the Session's Merges that the host has not been asked for, because the Session is archived. An attempted one
 * continues to its end. The caller holds the Session's lock.
 */
export async function abandonMerges(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  const failed = await failUnattempted(tx, key, 'session_archived', now)
  if (failed.length > 0) await appendEvents(tx, key, failed.map(mergeEvent), now)
}

/** Ends a Merge of a follow-up that was stopped, if the host has not been asked for it. The caller holds the Session's lock. */
export async function withdrawMerge(tx: Queryable, key: SessionKey, id: string, now: Date): Promise<void> {
  const failed = await failUnattempted(tx, key, 'withdrawn', now, id)
  if (failed.length > 0) await appendEvents(tx, key, failed.map(mergeEvent), now)
}
