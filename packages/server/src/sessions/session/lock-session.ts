import type { Principal } from '../../identity/guard/principal.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { SessionRow } from './session.ts'
import { lockSession } from './session-sql.ts'
import { requireSeen } from './visibility.ts'

/**
 * Locks a Session that the caller sees, for a command that decides under the lock.
 * @throws ApiError 404 `cloud_session_not_found`
 */
export async function lockVisibleSession(tx: Queryable, principal: Principal, key: SessionKey): Promise<SessionRow> {
  return requireSeen(principal, await lockSession(tx, key))
}
