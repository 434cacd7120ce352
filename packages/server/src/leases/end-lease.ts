import { appendEvents, type SessionKey } from '../events/append.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import type { Queryable } from '../storage/database.ts'
import { finishLease, type LeaseEnd } from './lease-sql.ts'

/**
 * Ends the Session's lease, where it has one, and says so in the log unless it never held or the Session is being
 * archived (completions, `workspace`). The agent that waited for people in it is gone with it. The caller holds the Session's lock.
 * @returns whether there was a lease to end
 */
export async function endLease(tx: Queryable, key: SessionKey, reason: LeaseEnd, now: Date): Promise<boolean> {
  const lease = await finishLease(tx, key, reason, now)
  if (lease === null) return false
  await closeInteractions(tx, key, 'workspace_lost', now)
  if (lease.was === 'attached' && reason !== 'archived') {
    const data = { leaseId: lease.id, expiredAt: now.toISOString() }
    await appendEvents(tx, key, [{ type: 'svc.workspace.expired', data }], now)
  }
  return true
}
