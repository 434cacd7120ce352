import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { closeInteractions } from '../interactions/close-interactions.ts'
import { appendEvents } from '../log/append.ts'
import { type ApplyError, type ApplyReport, applyEvent } from './apply-report.ts'
import { findLiveLease, finishLease, type LeaseEnd } from './lease-sql.ts'

/** How a lease ends. */
export interface LeaseEnding {
  /** The Run waits for answers without the sandbox, so its questions stay open. */
  readonly keepQuestions?: boolean
  /** If an environment is being applied: why that fails, when the end of the lease does not tell. */
  readonly applyError?: ApplyError
  /** If an environment is being applied: results that the lease's row does not have yet. */
  readonly applied?: Partial<ApplyReport>
}

/**
 * Ends the Session's lease, if it has one, and logs that, unless the lease was never attached or the Session is being
 * archived. An apply that has started fails with it, and its terminal Event is appended. The agent's open interactions
 * end with it, unless the Run is sealed to wait for the answers without it. The caller holds the Session's lock.
 * @returns true if there was a lease to end
 */
export async function endLease(
  tx: Queryable,
  key: SessionKey,
  reason: LeaseEnd,
  now: Date,
  { keepQuestions = false, applyError, applied }: LeaseEnding = {},
): Promise<boolean> {
  const lease = await finishLease(tx, key, reason, now)
  if (lease === null) return false
  if (!keepQuestions) await closeInteractions(tx, key, 'workspace_lost', now)
  if (lease.was !== 'attached' && lease.apply !== null) {
    const ended = { ...lease, apply: { ...lease.apply, ...applied } }
    await appendEvents(tx, key, [applyEvent(ended, 'failed', now, applyError ?? applyErrors[reason])], now)
  }
  if (lease.was === 'attached' && reason !== 'archived') {
    const data = { leaseId: lease.id, expiredAt: now.toISOString() }
    await appendEvents(tx, key, [{ type: 'svc.workspace.expired', data }], now)
  }
  return true
}

const applyErrors: Readonly<Record<LeaseEnd, ApplyError>> = {
  expired: 'apply_failed',
  lost: 'workspace_lost',
  archived: 'session_archived',
  abandoned: 'apply_failed',
}

/**
 * Gives up a sandbox that is still being made or set up, and leaves a finished one. The caller holds the Session's lock,
 * and no worker goes on with the sandbox after its transaction. Call it before the end of the Run for which the sandbox
 * is set up, because nothing of a Run follows its terminal Event.
 */
export async function abandonUnfinished(
  tx: Queryable,
  key: SessionKey,
  now: Date,
  applyError: ApplyError = 'apply_failed',
): Promise<void> {
  const state = (await findLiveLease(tx, key))?.state
  if (state === 'creating' || state === 'applying') await endLease(tx, key, 'abandoned', now, { applyError })
}
