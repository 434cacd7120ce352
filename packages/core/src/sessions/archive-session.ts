import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { appendAudit } from '../accounts/audit/append.ts'
import { principalEntry } from '../accounts/audit/principal-entry.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { closeSession } from './close-session.ts'
import { lockVisibleSession } from './session/read-session.ts'

/**
 * Archives a Session, if it is not archived yet.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function archiveSession(
  context: Context,
  principal: Principal,
  key: SessionKey,
  clientAddress: string,
): Promise<void> {
  await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) return
    const now = context.clock.now()
    await closeSession(tx, key, session.active_run_id, now)
    const about = { target: `session/${key.sessionId}` }
    await appendAudit(tx, principalEntry(principal, clientAddress, 'session.archived', about), now)
  })
  context.wakeups.publish(
    topics.session(key.organizationId, key.sessionId),
    topics.control(key.organizationId, key.sessionId),
    topics.leases,
  )
}
