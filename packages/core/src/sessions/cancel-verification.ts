import type { Verification } from '@berth/contract'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { closeSession } from './close-session.ts'
import { wakeMergesOf } from './merges/merge-sql.ts'
import { lockVisibleSession } from './session/read-session.ts'
import { holdSession } from './session/session-sql.ts'
import { cancelVerifications } from './verifications/cancel-verifications.ts'
import { toVerification } from './verifications/verification.ts'
import { findVerification } from './verifications/verification-sql.ts'

/**
 * Cancels a verification that the caller sees, and gives its sandbox back; one that has ended stays as it ended.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function cancelVerification(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  principal: Principal,
  key: SessionKey,
  id: string,
): Promise<Verification> {
  const cancelled = await db.transaction(async tx => {
    await lockVisibleSession(tx, principal, key)
    const now = clock.now()
    const sandboxes = await cancelVerifications(tx, key, now, id)
    for (const sandbox of sandboxes) {
      await holdSession(tx, sandbox)
      await closeSession(tx, sandbox, null, now)
    }
    const row = await findVerification(tx, key, id)
    if (row === null) throw sessionNotFound()
    if (sandboxes.length > 0) await wakeMergesOf(tx, key, now)
    return { row, sandboxes }
  })
  for (const { organizationId, sessionId } of [key, ...cancelled.sandboxes]) {
    wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId))
  }
  wakeups.publish(topics.leases)
  return toVerification(cancelled.row)
}
