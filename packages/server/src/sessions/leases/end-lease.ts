import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { appendEvents } from '../log/append.ts'
import { findLiveLease, finishLease, type LeaseEnd } from './lease-sql.ts'

/**
 * Ends the Session's lease, where it has one, and says so in the log unless it never held or the Session is being
 * archived (completions, `workspace`). What its agent asked ends with it, unless the Run is sealed to wait for the answer
 * without it. The caller holds the Session's lock.
 * @returns whether there was a lease to end
 */
export async function endLease(
  tx: Queryable,
  key: SessionKey,
  reason: LeaseEnd,
  now: Date,
  { keepQuestions = false }: { readonly keepQuestions?: boolean } = {},
): Promise<boolean> {
  const lease = await finishLease(tx, key, reason, now)
  if (lease === null) return false
  if (!keepQuestions) await closeInteractions(tx, key, 'workspace_lost', now)
  if (lease.was === 'attached' && reason !== 'archived') {
    const data = { leaseId: lease.id, expiredAt: now.toISOString() }
    await appendEvents(tx, key, [{ type: 'svc.workspace.expired', data }], now)
  }
  return true
}

/**
 * Gives up a sandbox that is still being made; one that stands stays. The caller holds the Session's lock and has taken
 * the execution from the worker that makes it.
 */
export async function abandonUnfinished(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  if ((await findLiveLease(tx, key))?.state === 'creating') await endLease(tx, key, 'abandoned', now)
}
