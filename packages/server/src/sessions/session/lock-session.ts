import type { Principal } from '../../identity/guard/principal.ts'
import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import type { SessionRow } from './session.ts'
import { holdSession, lockSession } from './session-sql.ts'
import { requireSeen } from './visibility.ts'

/** Takes the lock under which a command on the Session decides. @throws ApiError 404 `cloud_session_not_found` */
export async function lockVisibleSession(tx: Queryable, principal: Principal, key: SessionKey): Promise<SessionRow> {
  return requireSeen(principal, await lockSession(tx, key))
}

/** The same lock for work that acts for nobody in particular. */
export async function lockSessionOf(tx: Queryable, key: SessionKey): Promise<void> {
  await holdSession(tx, key)
}
