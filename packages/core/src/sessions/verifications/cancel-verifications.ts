import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendEvents } from '../log/append.ts'
import { verificationEvent } from './verification.ts'
import { cancelOpen } from './verification-sql.ts'

/**
 * Cancels the Session's verifications that have not ended, or one of them. The caller holds the Session's lock.
 * @returns their hidden Sessions, which the caller closes
 */
export async function cancelVerifications(
  tx: Queryable,
  key: SessionKey,
  now: Date,
  id: string | null = null,
): Promise<readonly SessionKey[]> {
  const cancelled = await cancelOpen(tx, key, id, now)
  if (cancelled.length > 0) await appendEvents(tx, key, cancelled.map(verificationEvent), now)
  return cancelled.flatMap(({ organization_id: organizationId, sandbox_id: sessionId }) =>
    sessionId === null ? [] : [{ organizationId, sessionId }],
  )
}
