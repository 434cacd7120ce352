import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { closeSession } from './close-session.ts'
import { wakeFollowUpsOf } from './follow-ups/follow-up-sql.ts'
import { appendEvents } from './log/append.ts'
import { wakeMergesOf } from './merges/merge-sql.ts'
import { subjectOf } from './verifications/begin-verification.ts'
import { findGap, stateOf, type VerificationRow, verificationEvent } from './verifications/verification.ts'
import { findApplyFailure, findVerification, finishVerification } from './verifications/verification-sql.ts'

/**
 * Ends a verification and closes its hidden Session, so its sandbox goes. The caller holds the locks of both Sessions.
 * @param leaseId the lease of its sandbox; null if that, or its setup, has failed, so that not every check has run
 */
export async function concludeVerification(
  tx: Queryable,
  sandbox: SessionKey,
  { organization_id, session_id, id }: VerificationRow,
  leaseId: string | null,
  now: Date,
): Promise<void> {
  const key = subjectOf({ organization_id, session_id })
  const row = await findVerification(tx, key, id)
  if (row !== null) {
    const error = leaseId === null ? await findApplyFailure(tx, sandbox) : findGap(row, leaseId)
    await finish(tx, row, { state: error ? 'errored' : stateOf(row.results), error }, now)
  }
  await closeSession(tx, sandbox, null, now)
}

/**
 * Ends a verification for which no worker has made a sandbox in time, or whose worker is gone for good, and closes its
 * hidden Session. The caller holds the locks of both Sessions.
 * @returns false if it has ended, or is not overdue
 */
export async function giveUpVerification(
  tx: Queryable,
  sandbox: SessionKey,
  { organization_id, session_id, id }: VerificationRow,
  isOverdue: (row: VerificationRow) => boolean,
  now: Date,
): Promise<boolean> {
  const row = await findVerification(tx, subjectOf({ organization_id, session_id }), id)
  if (row === null || row.ended_at !== null || !isOverdue(row)) return false
  await finish(tx, row, { state: 'errored', error: { code: 'worker_unavailable' } }, now)
  await closeSession(tx, sandbox, null, now)
  return true
}

async function finish(
  tx: Queryable,
  row: VerificationRow,
  end: Pick<VerificationRow, 'state' | 'error'>,
  now: Date,
): Promise<void> {
  const ended = await finishVerification(tx, row, end, now)
  if (ended === null) return
  await appendEvents(tx, subjectOf(row), [verificationEvent(ended)], now)
  await wakeMergesOf(tx, subjectOf(row), now)
  await wakeFollowUpsOf(tx, subjectOf(row), now)
}
