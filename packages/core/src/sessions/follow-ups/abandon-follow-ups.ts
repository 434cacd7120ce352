import type { FollowUpReason } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import type { FollowUpRow } from './follow-up.ts'
import { endedEvent } from './follow-up-event.ts'
import { stopFollowUps } from './follow-up-sql.ts'

/**
 * Stops following the Session's pull requests, or one of them. Whoever is at one loses its claim, so nothing is pushed
 * for it any more. The caller holds the Session's lock.
 */
export async function abandonFollowUps(
  tx: Queryable,
  key: SessionKey,
  why: { readonly reason: FollowUpReason; readonly pullNumber: number | null },
  now: Date,
): Promise<readonly FollowUpRow[]> {
  const stopped = await stopFollowUps(tx, key, why, now)
  if (stopped.length > 0) await appendEvents(tx, key, stopped.map(endedEvent), now)
  return stopped
}
