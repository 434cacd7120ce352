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
    const ended = await finishVerification(tx, row, { state: error ? 'errored' : stateOf(row.results), error }, now)
    if (ended !== null) {
      await appendEvents(tx, key, [verificationEvent(ended)], now)
      await wakeMergesOf(tx, key, now)
      await wakeFollowUpsOf(tx, key, now)
    }
  }
  await closeSession(tx, sandbox, null, now)
}
