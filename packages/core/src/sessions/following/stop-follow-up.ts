import type { FollowUp } from '@berth/contract'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import { principalEntry } from '../../accounts/audit/principal-entry.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { abandonFollowUps } from '../follow-ups/abandon-follow-ups.ts'
import { toFollowUp } from '../follow-ups/follow-up.ts'
import type { MergeKey } from '../merges/merge-sql.ts'
import { lockVisibleSession } from '../session/read-session.ts'
import { requireFollowUp } from './read-follow-up.ts'
import { withdraw } from './steps.ts'

/**
 * Stops following the pull request of a Publication. A follow-up that has ended stays as it is.
 * @throws ApiError 404 `cloud_session_not_found` or `cloud_follow_up_not_found`
 */
export async function stopFollowUp(
  context: Context,
  principal: Principal,
  key: MergeKey,
  clientAddress: string,
): Promise<FollowUp> {
  const { followUp, stopped } = await context.db.transaction(async tx => {
    await lockVisibleSession(tx, principal, key)
    const row = await requireFollowUp(tx, key)
    const now = context.clock.now()
    const [ended] = await abandonFollowUps(tx, key, { reason: 'person_asked', pullNumber: row.pull_number }, now)
    if (ended === undefined) return { followUp: row, stopped: false }
    await withdraw(tx, { ...key, row }, now)
    const about = { target: `session/${key.sessionId}`, details: { pullRequest: row.pull_url } }
    await appendAudit(tx, principalEntry(principal, clientAddress, 'follow_up.stopped', about), now)
    return { followUp: ended, stopped: true }
  })
  if (stopped) context.wakeups.publish(topics.deliveries, topics.session(key.organizationId, key.sessionId))
  return toFollowUp(followUp)
}
