import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { appendEvents } from '../log/append.ts'
import { findLiveLease, finishLease, type LeaseEnd } from './lease-sql.ts'

/**
 * Ends the Session's lease, if it has one, and logs that, unless the lease was never attached or the Session is being
 * archived. The agent's open interactions end with it, unless the Run is sealed to wait for the answers without it. The
 * caller holds the Session's lock.
 * @returns true if there was a lease to end
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
 * Gives up a sandbox that is still being made, and leaves a finished one. The caller holds the Session's lock and has
 * taken the execution from the worker that makes the sandbox.
 */
export async function abandonUnfinished(tx: Queryable, key: SessionKey, now: Date): Promise<void> {
  if ((await findLiveLease(tx, key))?.state === 'creating') await endLease(tx, key, 'abandoned', now)
}
