import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import { principalEntry } from '../../accounts/audit/principal-entry.ts'
import { appendEvents } from '../log/append.ts'
import type { FollowUpRow } from './follow-up.ts'
import { startedEvent } from './follow-up-event.ts'
import { type BegunFollowUp, findFollowUp, insertFollowUp, replaceFollowUp } from './follow-up-sql.ts'

/**
 * Begins to follow a pull request, or gives the follow-up that it has its new bounds. The Event is appended unless it
 * was under way. The caller holds the Session's lock.
 * @returns null if the pull request is merged or closed
 */
export async function beginFollowUp(
  tx: Queryable,
  key: SessionKey,
  begun: BegunFollowUp,
  now: Date,
): Promise<FollowUpRow | null> {
  const known = await findFollowUp(tx, key, begun.pull.number)
  if (known?.state === 'merged' || known?.state === 'closed') return null
  const row =
    known === null
      ? await insertFollowUp(tx, key, begun, now)
      : await replaceFollowUp(tx, key, { ...begun, publicationId: known.publication_id }, now)
  if (row.round !== known?.round) await appendEvents(tx, key, [startedEvent(row)], now)
  const by = { ...begun.by, organizationId: key.organizationId }
  const about = { target: `session/${key.sessionId}`, details: { pullRequest: row.pull_url, ...begun.request } }
  await appendAudit(tx, principalEntry(by, begun.clientAddress, 'follow_up.started', about), now)
  return row
}
